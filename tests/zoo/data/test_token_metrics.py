"""Perplexity and accuracy of tokens."""

import math

import pytest
import torch

from zoo.core import IGNORED
from zoo.data.corpus import Batch
from zoo.data.token_metrics import token_scores
from zoo.errors import DataError

CPU = torch.device("cpu")


def logits(ids: torch.Tensor) -> torch.Tensor:
    """Give token 1 the probability 1/2, and tokens 0 and 2 a quarter each."""
    return torch.tensor([0.25, 0.5, 0.25]).log().expand(*ids.shape, 3)


def test_scores_are_those_of_the_tokens_that_are_asked_for() -> None:
    batches = [
        Batch((torch.zeros(1, 2, dtype=torch.long),), torch.tensor([[1, 2]])),
        Batch((torch.zeros(1, 3, dtype=torch.long),), torch.tensor([[1, IGNORED, IGNORED]])),
    ]
    scores = token_scores(logits, batches, CPU)
    assert scores.accuracy == pytest.approx(2 / 3)
    assert scores.perplexity == pytest.approx(math.exp((2 * math.log(2) + math.log(4)) / 3))


def test_nothing_asked_for_is_an_error() -> None:
    batch = Batch((torch.zeros(1, 1, dtype=torch.long),), torch.tensor([[IGNORED]]))
    with pytest.raises(DataError, match="no targets"):
        token_scores(logits, [batch], CPU)
