"""A loss and a metric of the user: `zoo.train(loss=…, metric=…)`."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from zoo.core.losses.loss import IGNORED
from zoo.core.mechanisms.alignment.hard import hard_alignments
from zoo.core.models.model import has_own_loss
from zoo.data.batches.batched_corpus import evaluation_mode, to_device
from zoo.data.corpus import Batch, Corpus
from zoo.errors import ConfigError, DataError
from zoo.training.config import Settings

Loss = Callable[[Tensor, Tensor], Tensor]
"""Answer of the model and target (-100 where there is none) to the mean loss."""
Metric = Callable[[Tensor, Tensor], Any]
"""Answers and targets of a split, those with a target alone, to a score."""


class OwnLoss:
    """Loss that the user gives, of answer and target.

    Args:
        loss: `(answer, target) -> scalar`, such as `torch.nn.functional.cross_entropy`.
    """

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    def __call__(self, forward: Any, batch: Batch, step: int) -> Tensor:
        """Give the loss.

        Raises:
            ConfigError: If it is no number with a gradient.
        """
        value = self.loss(forward(*batch.inputs), batch.target)
        if not isinstance(value, Tensor) or value.ndim or not value.requires_grad:
            shape = f" of shape {tuple(value.shape)}" if isinstance(value, Tensor) else ""
            raise ConfigError(
                f"loss={name_of(self.loss)} gave a {type(value).__name__}{shape}: the mean loss as a tensor without "
                "axes, with its gradient, is wanted"
            )
        return value


def check_own_loss(model: nn.Module, settings: Settings) -> None:
    """Check that nothing else decides the loss.

    Raises:
        ConfigError: If class weights, REINFORCE or the model do.
    """
    if has_own_loss(model):
        raise ConfigError(f"loss= of {type(model).__name__}, which computes its loss itself: leave loss away")
    if settings.class_weights == "balanced" or settings.reinforce or hard_alignments(model):
        raise ConfigError("loss= with class_weights='balanced' or REINFORCE, which are losses too: take one")


def own_score(metric: Metric, corpus: Corpus, model: nn.Module, split: str, batch_size: int) -> float:
    """Score a split by a metric of the user.

    Args:
        metric: `(answers, targets) -> number`, of the positions with a target: answers (n, classes), targets (n).
        corpus: the data.
        model: the model.
        split: of the data.
        batch_size: of the evaluation.

    Raises:
        ConfigError: If it gives no number.
        DataError: If there is no target.
    """
    answers, targets = [], []
    with evaluation_mode(model) as device:
        for batch in corpus.held_out(split, batch_size):
            inputs, target = to_device(batch, device)
            answer, target = model(*inputs).float().cpu(), target.cpu()
            if answer.ndim == target.ndim + 1 and not target.is_floating_point():
                known = target.reshape(-1) != IGNORED
                answer, target = answer.reshape(-1, answer.shape[-1])[known], target.reshape(-1)[known]
            answers.append(answer)
            targets.append(target)
    if not sum(map(len, targets)):
        raise DataError(f"metric={name_of(metric)}: {split} has no target")
    try:
        return float(metric(torch.cat(answers), torch.cat(targets)))
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"metric={name_of(metric)} gave no number: {error}") from error


def name_of(function: Any) -> str:
    """Name a function or a module of the user, the same in every process."""
    return str(getattr(function, "__name__", "") or type(function).__name__)
