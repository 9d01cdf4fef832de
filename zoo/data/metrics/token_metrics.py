"""Perplexity and accuracy of predictions by position, tokens or labels of whole inputs; and a model's own loss."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from zoo.core.losses.loss import IGNORED, count_targets, cross_entropy
from zoo.data.batches.batched_corpus import to_device
from zoo.data.corpus import Batch
from zoo.errors import DataError


class TokenScores(NamedTuple):
    """Perplexity and accuracy of a model under teacher forcing."""

    perplexity: float
    accuracy: float

    @property
    def loss(self) -> float:
        """Mean cross-entropy, in nats."""
        return math.log(self.perplexity)


def token_scores(model: Any, batches: Iterable[Batch], device: torch.device) -> TokenScores:
    """Evaluate each target that is not ignored, given the right tokens before it or around it (teacher forcing).

    Raises:
        DataError: If there is no target.
    """
    loss, right, count = 0.0, 0, 0
    for batch in batches:
        inputs, target = to_device(batch, device)
        answer: Tensor = model(*inputs)
        has_target = target != IGNORED
        found = ((answer.argmax(-1) == target) & has_target).sum()
        mean, hits, number = torch.stack(
            [x.double() for x in (cross_entropy(answer.float(), target), found, has_target.sum())]
        ).tolist()  # a GPU is waited for once
        loss += mean * number
        right += int(hits)
        count += int(number)
    if not count:
        raise DataError("no targets: every position is ignored")
    return TokenScores(math.exp(min(loss / count, 700.0)), right / count)


def own_loss(model: Any, batches: Iterable[Batch], device: torch.device) -> float:
    """Give the mean loss over targets of a model with a loss of its own, such as CTC.

    What such a loss draws, such as masks, is the same each time, and the process's random numbers go on as they were.

    Raises:
        DataError: If there is no target.
    """
    total, count = 0.0, 0
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(0)
        for batch in batches:
            inputs, target = to_device(batch, device)
            number = count_targets(target)
            total += float(model.training_loss(inputs, target, 0.0)) * int(number)
            count += int(number)
    if not count:
        raise DataError("no targets: every position is ignored")
    return total / count
