"""Patterns and keys as values."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from zoo.core import Attention, Causal, ConfigError, Explicit, Full, InputError, Lengths, Valid, left_padded
from zoo.core.patterns.pattern import Pattern
from zoo.testing.strategies import grouped_patterns, local_patterns, patterns


def square(pattern: Pattern, n: int = 4) -> list[list[int]]:
    return pattern.mask(torch.arange(n)[None], torch.arange(n))[0, 0].int().tolist()


def test_causal_is_the_lower_triangle() -> None:
    assert square(Causal(), 3) == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_full_is_all_ones() -> None:
    assert square(Full(), 2) == [[1, 1], [1, 1]]


def test_full_is_neutral_in_and_and_swallows_in_or() -> None:
    assert Full() & Causal() == Causal() & Full() == Causal()
    assert Full() | Causal() == Causal() | Full() == Full()


def test_and_or_are_the_logical_ones() -> None:
    diagonal = Explicit(torch.eye(4, dtype=torch.bool).roll(1, 1))
    assert square(Causal() & diagonal) == (torch.eye(4).roll(1, 1).tril().int().tolist())
    assert (
        square(Causal() | diagonal) == (torch.eye(4).roll(1, 1) + torch.ones(4, 4).tril()).clamp(max=1).int().tolist()
    )
    i, j = torch.arange(4)[:, None], torch.arange(4)
    assert (Causal() & diagonal).allows(i, j).int().tolist() == square(Causal() & diagonal)
    assert (Causal() | diagonal).allows(i, j).int().tolist() == square(Causal() | diagonal)


any_pattern = st.one_of(patterns(), local_patterns(), grouped_patterns())
sizes = st.integers(0, 12)


def whole(pattern: Pattern, queries: int, keys: int, start: int) -> Tensor:
    mask = pattern.mask(torch.arange(start, start + queries)[None], torch.arange(keys))
    return mask.expand(1, 1, queries, keys)[0, 0]


@given(pattern=any_pattern, queries=sizes, keys=sizes, start=sizes)
@settings(max_examples=200, deadline=None)
def test_pairs_and_edges_are_those_of_the_mask(pattern: Pattern, queries: int, keys: int, start: int) -> None:
    mask = whole(pattern, queries, keys, start)
    assert pattern.pairs(queries, keys, start) == int(mask.sum())
    sources, targets = pattern.edges(queries, keys, start)
    again = torch.zeros_like(mask)
    again[targets - start, sources] = True
    assert torch.equal(again, mask)
    assert len(sources) == int(mask.sum())


@given(pattern=any_pattern, queries=sizes, keys=sizes, start=sizes)
@settings(max_examples=200, deadline=None)
def test_a_cover_holds_every_pair(pattern: Pattern, queries: int, keys: int, start: int) -> None:
    cover = pattern.cover()
    i, j = torch.arange(start, start + queries)[:, None], torch.arange(keys)
    inside = torch.ones(queries, keys, dtype=torch.bool)
    if cover.left is not None:
        inside &= j >= i - cover.left
    if cover.right is not None:
        inside &= j <= i + cover.right
    for g in cover.keys:
        inside |= j == g
    for g in cover.queries:
        inside |= i == g
    assert not (whole(pattern, queries, keys, start) & ~inside).any()


@given(pattern=any_pattern, queries=sizes, keys=sizes, start=sizes)
@settings(max_examples=50, deadline=None)
def test_a_mask_mod_is_the_mask(pattern: Pattern, queries: int, keys: int, start: int) -> None:
    mask, mod = whole(pattern, queries, keys, start), pattern.mask_mod(start)
    none = torch.tensor(0)
    for i in range(queries):
        for j in range(keys):
            assert bool(mod(none, none, torch.tensor(i), torch.tensor(j))) == bool(mask[i, j])


@given(pattern=any_pattern)
@settings(max_examples=50, deadline=None)
def test_a_pattern_is_a_value_of_one_line(pattern: Pattern) -> None:
    assert pattern == copy.deepcopy(pattern)
    assert hash(pattern) == hash(copy.deepcopy(pattern))
    assert "\n" not in repr(pattern)
    assert pattern.by_value
    assert not (pattern & Explicit(torch.eye(2, dtype=torch.bool))).by_value


def test_positions_of_keys_may_differ_by_row() -> None:
    queries, keys = torch.tensor([[3], [3]]), torch.tensor([[1, 2, 3], [3, 4, 5]])
    assert Causal().mask(queries, keys)[:, 0, 0].tolist() == [[True, True, True], [True, False, False]]
    explicit = Explicit(torch.ones(6, 6, dtype=torch.bool).tril())
    assert torch.equal(explicit.mask(queries, keys), Causal().mask(queries, keys))


def test_before_position_0_a_given_mask_allows_nothing() -> None:
    mask = Explicit(torch.ones(3, 3, dtype=torch.bool))
    found = mask.mask(torch.arange(-2, 2)[None], torch.arange(-1, 3))
    assert found[0, 0].tolist() == [[False] * 4, [False] * 4, [False, True, True, True], [False, True, True, True]]
    assert torch.equal(mask.allows(torch.arange(-2, 2)[:, None], torch.arange(-1, 3)), found[0, 0])
    y = Attention(4, 1, pattern=mask)(left_padded(torch.randn(1, 3, 4), torch.tensor([2])))  # padding may stand there
    assert y.isfinite().all()


def test_patterns_are_equal_by_value_and_print_as_written() -> None:
    assert Causal() == Causal()
    assert hash(Causal()) == hash(Causal())
    assert repr(Causal() & Causal()) == "Causal() & Causal()"


@pytest.mark.parametrize("mask", [torch.ones(2, 2), torch.ones(2, dtype=torch.bool)])
def test_explicit_refuses_what_is_no_mask(mask: torch.Tensor) -> None:
    with pytest.raises(InputError, match="Explicit needs a boolean mask"):
        Explicit(mask)


def test_allows_of_a_mask_by_row_says_to_use_mask() -> None:
    with pytest.raises(ConfigError, match=r"use mask\(\)"):
        Explicit(torch.ones(2, 2, 2, dtype=torch.bool)).allows(torch.arange(2), torch.arange(2))


def test_lengths_and_valid_agree() -> None:
    valid = torch.tensor([[True, True, False], [False, False, False]])
    by_length = Lengths(torch.tensor([2, 0])).valid(2, 3, torch.device("cpu"))
    assert torch.equal(by_length, Valid(valid).valid(2, 3, torch.device("cpu")))
