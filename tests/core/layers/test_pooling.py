"""One vector for each set: rows, rows with padding, and packed sets."""

import pytest
import torch
from torch import Tensor

from zoo.core import Classify, ConfigError, InputError, Lengths, Segments, Tokens
from zoo.core.layers.pooling import pooled

pytestmark = pytest.mark.usefixtures("float64")

IDS = torch.tensor([[0, 0, 2, 2, 3, -1], [1, 1, 1, 1, 3, 3]])
WAYS = {"mean": lambda x: x.mean(0), "sum": lambda x: x.sum(0), "max": lambda x: x.amax(0), "first": lambda x: x[0]}


def by_loop(x: Tensor, pool: str, sets: int) -> Tensor:
    """Pool each set of each row alone."""
    found = []
    for row, ids in zip(x, IDS, strict=True):
        for number in range(sets):
            own = row[ids == number]
            found.append(WAYS[pool](own) if len(own) else torch.zeros(x.shape[2]))
    return torch.stack(found)


@pytest.mark.parametrize("pool", WAYS)
def test_each_packed_set_is_pooled_alone(pool: str) -> None:
    x = torch.randn(2, 6, 3) - 2
    tokens = Tokens(x, keys=Segments(IDS))
    torch.testing.assert_close(pooled(tokens, pool), by_loop(x, pool, 4))


@pytest.mark.parametrize("pool", WAYS)
def test_sets_that_are_counted_may_be_empty_at_the_end(pool: str) -> None:
    x = torch.randn(2, 6, 3)
    torch.testing.assert_close(pooled(Tokens(x, keys=Segments(IDS, count=6)), pool), by_loop(x, pool, 6))


@pytest.mark.parametrize("pool", ["mean", "sum", "max"])
def test_nothing_pooled_is_zero(pool: str) -> None:
    empty = torch.randn(2, 0, 3)
    assert pooled(Tokens(empty), pool).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert pooled(Tokens(empty, keys=Lengths(torch.tensor([0, 0]))), pool).tolist() == [[0, 0, 0], [0, 0, 0]]
    one = Tokens(torch.randn(1, 0, 3), keys=Segments(torch.zeros(1, 0, dtype=torch.long), count=2))
    assert pooled(one, pool).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert not pooled(Tokens(torch.randn(1, 2, 3), keys=Lengths(torch.tensor([0]))), pool).any()


@pytest.mark.parametrize("pool", ["mean", "sum", "max"])
def test_padding_is_not_pooled(pool: str) -> None:
    x = torch.randn(2, 4, 3) - 2
    x[1, 2:] = torch.nan
    wanted = torch.stack([WAYS[pool](x[0]), WAYS[pool](x[1, :2])])
    torch.testing.assert_close(pooled(Tokens(x, keys=Lengths(torch.tensor([4, 2]))), pool), wanted)
    torch.testing.assert_close(pooled(Tokens(x[:1]), pool), wanted[:1])


def test_what_lies_in_no_set_does_not_leak() -> None:
    x = torch.randn(2, 6, 3)
    x[0, 5] = torch.nan
    sums = pooled(Tokens(x, keys=Segments(IDS)), "sum")
    x[0, 5] = 1e6
    torch.testing.assert_close(sums, pooled(Tokens(x, keys=Segments(IDS)), "sum"))


def test_sums_of_half_precision_are_exact() -> None:
    x = torch.full((1, 3000, 1), 1.0, dtype=torch.bfloat16)
    tokens = Tokens(x, keys=Segments(torch.zeros(1, 3000, dtype=torch.long)))
    assert pooled(tokens, "mean").item() == 1


def test_packed_sets_get_a_label_each() -> None:
    head, tokens = Classify(3, 5, "max"), Tokens(torch.randn(2, 6, 3), keys=Segments(IDS))
    labels = head(tokens)
    assert len(labels) == 8
    torch.testing.assert_close(labels, head.linear(pooled(tokens, "max")))


def test_what_cannot_be_pooled_is_refused() -> None:
    with pytest.raises(ConfigError, match="pool='median' is not one of first, mean, sum, max"):
        Classify(3, 5, "median")
    with pytest.raises(InputError, match="0 vectors in each of 2 sets"):
        pooled(Tokens(torch.randn(2, 0, 3)), "first")
