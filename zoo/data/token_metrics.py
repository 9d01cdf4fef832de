"""Perplexity and accuracy of predictions by position: tokens, or labels of whole inputs."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from zoo.core.losses.loss import IGNORED, cross_entropy
from zoo.data.batched_corpus import to_device
from zoo.data.corpus import Batch
from zoo.errors import DataError


class TokenScores(NamedTuple):
    """Perplexity and accuracy of a model under teacher forcing."""

    perplexity: float
    accuracy: float


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
        number = int(has_target.sum())
        loss += float(cross_entropy(answer.float(), target)) * number
        right += int((answer.argmax(-1) == target)[has_target].sum())
        count += number
    if not count:
        raise DataError("no targets: every position is ignored")
    return TokenScores(math.exp(min(loss / count, 700.0)), right / count)
