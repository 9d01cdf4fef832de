"""Doubly stochastic attention: one iteration is the softmax, many give rows and columns that sum to 1."""

import pytest
import torch

from zoo.core import Attention, ConfigError, Lengths, Tokens
from zoo.core.mechanisms.efficient.doubly_stochastic import DoublyStochastic, doubly_stochastic, sinkhorn

X = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@torch.no_grad()
def test_one_iteration_is_softmax_attention() -> None:
    layer, softmax = DoublyStochastic(8, 2, iterations=1).double(), Attention(8, 2).double()
    layer.load_state_dict(softmax.state_dict())
    torch.testing.assert_close(layer(Tokens(X)), softmax(Tokens(X)))


@torch.no_grad()
def test_rows_and_columns_of_what_is_there_sum_to_one() -> None:
    layer = doubly_stochastic("201")(8, 2).double()
    weights = layer.weights(Tokens(X * 3, keys=Lengths(torch.tensor([4, 6]))))
    ones = torch.tensor([[1.0] * 4 + [0] * 2, [1] * 6])[:, None].expand(2, 2, 6).double()
    torch.testing.assert_close(weights.sum(-1), ones)
    torch.testing.assert_close(weights.sum(-2), ones, atol=1e-6, rtol=0)
    few = doubly_stochastic()(8, 2).double().weights(Tokens(X * 3))
    torch.testing.assert_close(few.sum(-1), torch.ones(2, 2, 6).double())


def test_a_lower_triangular_one_would_be_the_identity() -> None:
    scores = torch.randn(4, 4, dtype=torch.float64)
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    balanced = sinkhorn(scores, mask, 2001)
    torch.testing.assert_close(balanced, torch.eye(4).double(), atol=1e-2, rtol=0)


def test_by_name_it_ends_with_rows() -> None:
    assert doubly_stochastic()(8, 2).iterations == 5


def test_a_number_of_iterations_is_a_whole_one() -> None:
    with pytest.raises(ConfigError, match="ITERATIONS='0' is no whole number from 1 on"):
        doubly_stochastic("0")
