"""`int8_quality`: what int8 weights change in a model's answers."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from zoo.core import Composition, Generator, evaluating, quantize
from zoo.errors import ConfigError

ANSWER = 64
"""Tokens that a model writes at most, to be asked on."""


@dataclass(frozen=True)
class Int8Quality:
    """Give the differences between a model and its int8 copy on the same inputs.

    Args:
        scores: how many lists of scores were compared: one for each input, token or frame.
        agreement: share of them with the same best class.
        largest_error: of a score.
        deviation: standard deviation of the scores, to compare that with.
        perplexity: of the next token, before and after; None for models that are no language models.
        megabytes: of the weights, before and after.
    """

    scores: int
    agreement: float
    largest_error: float
    deviation: float
    perplexity: tuple[float, float] | None
    megabytes: tuple[float, float]


def int8_quality(model: nn.Module, inputs: Iterable[tuple[Any, ...]], embeddings: bool = False) -> Int8Quality:
    """Compare a model with its int8 copy.

    Args:
        model: gives a tensor of scores, classes last; one that writes is asked for what follows on its own answer.
        inputs: of `model`, one tuple after the other.
        embeddings: as for `zoo.quantize`.

    Raises:
        ConfigError: If there are no inputs, or the model cannot be quantised.
    """
    made: Any = quantize(model, embeddings=embeddings)
    same, errors, deviations, losses = [], [], [], []
    with evaluating([*model.modules(), *made.modules()]):
        for given in inputs:
            given = model.with_answer(*given, max_len=ANSWER) if isinstance(model, Composition) else given
            before, after = (_scores(each(*given)) for each in (model, made))
            same.append((before.argmax(-1) == after.argmax(-1)).flatten())
            errors.append((before - after).abs().max())
            deviations.append(before.std())
            if isinstance(model, Generator) and model.encoder is None:
                losses.append(torch.stack([_losses(each, given[0]) for each in (before, after)]))
    if not same:
        raise ConfigError("no inputs: there is nothing to compare the models on")
    agreeing = torch.cat(same)
    return Int8Quality(
        scores=len(agreeing),
        agreement=float(agreeing.float().mean()),
        largest_error=float(torch.stack(errors).max()),
        deviation=float(torch.stack(deviations).mean()),
        perplexity=_perplexity(losses),
        megabytes=(_megabytes(model), _megabytes(made)),
    )


def _scores(answer: object) -> Tensor:
    if not isinstance(answer, Tensor) or not answer.ndim:
        raise ConfigError(f"the model answers with a {type(answer).__name__}, not with scores")
    return answer.float()


def _losses(scores: Tensor, ids: Tensor) -> Tensor:
    """Give the loss of each token but the first."""
    return cross_entropy(scores[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), reduction="none")


def _perplexity(losses: list[Tensor]) -> tuple[float, float] | None:
    if not sum(each.shape[1] for each in losses):
        return None
    before, after = torch.cat(losses, 1).mean(1).exp().tolist()
    return before, after


def _megabytes(model: nn.Module) -> float:
    kept = {id(x): x for x in (*model.parameters(), *model.buffers())}
    return sum(x.numel() * x.element_size() for x in kept.values()) / 1e6
