"""Scores of what models write and label: BLEU, exact matches, and perplexity and accuracy of single tokens."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from zoo.core.loss import IGNORED, cross_entropy
from zoo.errors import DataError
from zoo.plugins.text.corpus import moved
from zoo.training.corpus import Batch


class TokenScores(NamedTuple):
    """Hold what teacher forcing says of a model: its perplexity, and how many tokens it ranks first."""

    perplexity: float
    accuracy: float


def token_scores(model: Any, batches: Iterable[Batch], device: torch.device) -> TokenScores:
    """Judge each token that is asked for, given the right ones before it or around it.

    Raises:
        DataError: If none is asked for.
    """
    loss, right, count = 0.0, 0, 0
    for batch in batches:
        inputs, target = moved(batch, device)
        answer: Tensor = model(*inputs)
        asked = target != IGNORED
        number = int(asked.sum())
        loss += float(cross_entropy(answer.float(), target)) * number
        right += int((answer.argmax(-1) == target)[asked].sum())
        count += number
    if not count:
        raise DataError("no token is asked for: there is nothing to judge")
    return TokenScores(math.exp(min(loss / count, 700.0)), right / count)


def exact_match(written: Sequence[str], wanted: Sequence[str]) -> float:
    """Give the share of texts that are exactly what was wanted."""
    return sum(one == other for one, other in zip(written, wanted, strict=True)) / len(wanted)


def bleu(written: Sequence[str], wanted: Sequence[str], units: str) -> float:
    """Give BLEU of 0 to 100 (arXiv:1804.08771).

    Args:
        written: by the model.
        wanted: one reference for each.
        units: a tokenisation of sacrebleu: `13a` for languages with spaces, `char`, `zh`, ….
    """
    import sacrebleu

    return sacrebleu.corpus_bleu(list(written), [list(wanted)], tokenize=units, force=True).score
