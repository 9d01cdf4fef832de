"""Patterns and keys as values."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from zoo.core import Causal, ConfigError, Explicit, Full, InputError, Lengths, Valid
from zoo.core.pattern import Pattern


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


@given(queries=st.integers(0, 9), keys=st.integers(0, 9), start=st.integers(0, 12))
def test_pairs_count_what_the_mask_allows(queries: int, keys: int, start: int) -> None:
    positions = torch.arange(start, start + queries)[None]
    for pattern in (Full(), Causal(), Causal() | Causal()):
        assert pattern.pairs(queries, keys, start) == int(pattern.mask(positions, torch.arange(keys)).sum())


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
    there = torch.tensor([[True, True, False], [False, False, False]])
    by_length = Lengths(torch.tensor([2, 0])).valid(2, 3, torch.device("cpu"))
    assert torch.equal(by_length, Valid(there).valid(2, 3, torch.device("cpu")))
