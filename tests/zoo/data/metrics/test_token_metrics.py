"""Perplexity and accuracy of tokens."""

import math

import pytest
import torch
from torch import nn

from zoo.core import IGNORED
from zoo.data.corpus import Batch
from zoo.data.metrics.token_metrics import own_loss, token_scores
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
    assert scores.loss == pytest.approx((2 * math.log(2) + math.log(4)) / 3)
    assert scores.perplexity == pytest.approx(math.exp((2 * math.log(2) + math.log(4)) / 3))


class Drawing(nn.Module):
    """Lose what was drawn, with a loss of its own."""

    def training_loss(self, inputs: tuple[torch.Tensor], target: torch.Tensor, smoothing: float) -> torch.Tensor:
        return inputs[0].mean() + torch.rand(())


def test_a_loss_of_its_own_is_the_mean_over_targets_and_draws_the_same_each_time() -> None:
    batches = [
        Batch((torch.tensor([10.0]),), torch.tensor([[1, 2, 0]])),
        Batch((torch.tensor([20.0]),), torch.tensor([[1, IGNORED, IGNORED]])),
    ]
    before = torch.get_rng_state()
    loss = own_loss(Drawing(), batches, CPU)
    assert torch.equal(torch.get_rng_state(), before)
    assert loss == own_loss(Drawing(), batches, CPU)
    first, second = torch.rand(2, generator=torch.Generator().manual_seed(0)).tolist()
    assert loss == pytest.approx((3 * (10 + first) + 20 + second) / 4)


def test_nothing_asked_for_is_an_error() -> None:
    batch = Batch((torch.zeros(1, 1, dtype=torch.long),), torch.tensor([[IGNORED]]))
    with pytest.raises(DataError, match="no targets"):
        token_scores(logits, [batch], CPU)
    with pytest.raises(DataError, match="no targets"):
        own_loss(Drawing(), [Batch((torch.zeros(1),), batch.target)], CPU)
