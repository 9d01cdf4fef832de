"""Sinkhorn attention sorts blocks: balanced always, and at a low temperature attention to blocks by a permutation."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.core import Blocks, ConfigError, InputError, Lengths, Tokens, attend
from zoo.core.mechanisms.efficient.doubly_stochastic import sinkhorn as balanced
from zoo.core.mechanisms.efficient.sinkhorn import SinkhornAttention, sinkhorn, sorted_blocks

X = torch.randn(1, 12, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def make(tau: float = 0.75, iterations: int = 16) -> Any:
    torch.manual_seed(0)
    return SinkhornAttention(8, 2, block=3, length=12, tau=tau, iterations=iterations).double().eval()


def parts(layer: Any, x: Tensor) -> tuple[Tensor, ...]:
    return tuple(part.transpose(1, 2) for part in layer.heads(Tokens(x), Tokens(x).positions))


@torch.no_grad()
def test_the_sorting_is_balanced_over_the_blocks_that_are_there() -> None:
    layer = make(iterations=200)
    content = parts(layer, X)[2].unflatten(2, (4, 3))
    for taken in (4, 3):
        there = (torch.arange(4) < taken)[None]
        sort = layer.sorting(content, there)
        ones = there[:, None].expand(1, 2, 4).double()
        torch.testing.assert_close(sort.sum(-1), ones, atol=1e-6, rtol=0)
        torch.testing.assert_close(sort.sum(-2), ones, atol=1e-6, rtol=0)


@torch.no_grad()
def test_at_a_low_temperature_it_is_attention_to_blocks_by_a_permutation(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, there = make(), torch.ones(1, 1, 4, 4, dtype=torch.bool)
    orders = torch.tensor([[2, 0, 1, 3], [1, 2, 3, 0]])
    scores = torch.eye(4).double()[orders][None] + torch.rand(1, 2, 4, 4, dtype=torch.float64) / 4
    sort = balanced(scores / 0.01, there, 16)
    torch.testing.assert_close(sort[0], torch.eye(4).double()[orders], atol=1e-9, rtol=0)
    monkeypatch.setattr(layer, "sorting", lambda content, taken: sort)
    q, k, content, v = parts(layer, X)
    mixed = layer.mix((q, k, content, v), torch.ones(1, 12, dtype=torch.bool), False)
    for head, order in enumerate(orders.tolist()):
        rows = tuple(tuple(sorted({own, order[own]})) for own in range(4))
        own_q, own_k, own_v = (x[:, head : head + 1].transpose(1, 2) for x in (q, k, v))
        wanted = attend(own_q, own_k, own_v, Blocks(3, rows))
        torch.testing.assert_close(mixed[:, head : head + 1].transpose(1, 2), wanted, atol=1e-8, rtol=0)


@torch.no_grad()
def test_the_sorting_is_its_formula() -> None:
    """P is relu of the sum of a block times a matrix, divided by tau; row i, of queries, is made of block i."""
    layer = make(tau=0.5, iterations=5)
    content = parts(layer, X)[2].unflatten(2, (4, 3))
    scores = torch.stack(
        [torch.stack([block.sum(0).relu() @ w for block in head]) for head, w in zip(content[0], layer.w, strict=True)]
    )
    expected = scores / 0.5
    for axis in (-1, -2, -1, -2, -1):
        expected = expected - expected.logsumexp(axis, keepdim=True)
    torch.testing.assert_close(layer.sorting(content, torch.ones(1, 4, dtype=torch.bool))[0], expected.exp())


@torch.no_grad()
def test_the_noise_of_the_sorting_is_that_of_gumbel(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    layer: Any = SinkhornAttention(8, 2, block=1, length=64).train()
    given: list[Tensor] = []

    def noted(scores: Tensor, there: Tensor, iterations: int) -> Tensor:
        given.append(scores)
        return scores

    monkeypatch.setattr("zoo.core.mechanisms.efficient.sinkhorn.balanced", noted)
    layer.sorting(torch.zeros(20, 2, 64, 1, 4), torch.ones(20, 64, dtype=torch.bool))
    noise = given[0] * layer.tau
    assert abs(float(noise.mean()) - 0.5772) < 0.02  # Euler's constant
    assert abs(float(noise.var()) - math.pi**2 / 6) < 0.05
    assert float(((noise - noise.mean()) ** 3).mean() / noise.std() ** 3) > 1  # 1.14; of the minimum it is negative


@torch.no_grad()
def test_a_sorted_place_counts_by_its_share_of_what_is_there() -> None:
    layer, n = make(), 7
    q, k, content, v = (torch.nn.functional.pad(x, (0, 0, 0, 5)).unflatten(2, (4, 3)) for x in parts(layer, X[:, :n]))
    there = (torch.arange(12) < n).view(1, 4, 3)
    sort = layer.sorting(content, there.any(-1))
    share = (sort @ there[:, None].double())[:, :, :, None]
    own = (q @ k.mT / 2).exp() * there[:, None, :, None]
    sorted_k, sorted_v = sorted_blocks(sort, k), sorted_blocks(sort, v)
    moved = (q @ sorted_k.mT / 2).exp() * share
    weights = torch.cat([own, moved], -1)
    expected = weights / weights.sum(-1, keepdim=True) @ torch.cat([v, sorted_v], 3)
    found = layer.mix(parts(layer, X[:, :n]), torch.ones(1, n, dtype=torch.bool), False)
    torch.testing.assert_close(found, expected.flatten(2, 3)[:, :, :n])


def test_sorted_blocks_follow_the_permutation() -> None:
    x = torch.randn(1, 1, 3, 2, 4)
    order = torch.tensor([2, 0, 1])
    assert torch.equal(sorted_blocks(torch.eye(3)[order][None, None], x)[0, 0], x[0, 0, order])


@torch.no_grad()
def test_noise_is_drawn_in_training_only() -> None:
    layer = make()
    assert torch.equal(layer(Tokens(X)), layer(Tokens(X)))
    layer.train()
    assert not torch.equal(layer(Tokens(X)), layer(Tokens(X)))


@torch.no_grad()
def test_a_block_that_is_filled_in_part_counts_by_what_is_there() -> None:
    layer = make()
    weights = layer.weights(Tokens(X, keys=Lengths(torch.tensor([7]))))
    assert not weights[..., 7:].any()
    torch.testing.assert_close(weights[:, :, :7, :7], layer.weights(Tokens(X[:, :7])))


def test_a_block_above_the_length_and_longer_rows_are_refused() -> None:
    with pytest.raises(ConfigError, match="BLOCK=7 is above length=6: a row has at least one block"):
        sinkhorn("7", "6")(8, 2)
    with pytest.raises(InputError, match="a row of 12 for SinkhornAttention of length=11"):
        sinkhorn("3", "11")(8, 2)(Tokens(X.float()))
