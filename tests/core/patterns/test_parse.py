"""The text form of patterns, and whether a pattern fits a set."""

import re
from functools import reduce
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.core import Blocks, Causal, Chunk, ConfigError, Fixed, Full, Globals, Neighbourhood, Strided, Window, big_bird
from zoo.core.models.inspection import misfit
from zoo.core.patterns.parse import LARGEST
from zoo.core.patterns.pattern import And, Or, Pattern
from zoo.factory.attention_argument import pattern as read

small = st.integers(0, 5)
size = st.integers(1, 5)
rows = st.lists(st.lists(small, max_size=3).map(tuple), max_size=4).map(tuple)
Recipe = tuple[Any, ...]
"""A class and its arguments; a pattern is made in the test, since beartype may not draw lots inside a strategy."""

alone: st.SearchStrategy[Recipe] = st.one_of(
    st.just((Full,)),
    st.just((Causal,)),
    st.tuples(st.just(Window), small, small, size),
    st.tuples(st.just(Chunk), size, small),
    st.tuples(st.just(Neighbourhood), size, size, st.integers(0, 2), st.integers(0, 2)),
    st.tuples(st.just(Globals), st.lists(small, max_size=3).map(tuple)),
    st.tuples(st.just(Fixed), size, st.just(1)),
    st.tuples(st.just(Strided), size),
    st.tuples(st.just(Blocks), size, rows),
)
joined = st.recursive(alone, lambda parts: st.tuples(st.sampled_from([And, Or]), parts, parts), max_leaves=8)


def make(recipe: Recipe, by_sign: bool = True) -> Pattern:
    """Make a pattern, by `&` and `|` or by And and Or themselves, which keep a Full that the signs leave out."""
    kind, *arguments = recipe
    if kind not in (And, Or):
        return kind(*arguments)
    left, right = (make(part, by_sign) for part in arguments)
    return kind(left, right) if not by_sign else left & right if kind is And else left | right


def mask(pattern: Pattern, n: int = 14) -> torch.Tensor:
    return pattern.mask(torch.arange(n)[None], torch.arange(n))[0, 0]


@given(recipe=joined)
@settings(max_examples=300, deadline=None)
def test_reading_what_a_pattern_writes_gives_the_pattern(recipe: Recipe) -> None:
    pattern = make(recipe)
    assert read(str(pattern)) == pattern


@given(recipe=joined)
@settings(max_examples=200, deadline=None)
def test_reading_what_joins_of_everything_write_allows_the_same(recipe: Recipe) -> None:
    pattern = make(recipe, by_sign=False)
    assert torch.equal(mask(read(str(pattern))), mask(pattern))


def test_the_text_of_a_pattern_is_no_longer_than_its_parts() -> None:
    parts: list[Pattern] = [Or(Window(n), Globals((n,))) for n in range(40)]
    pattern = reduce(And, parts)
    assert len(str(pattern)) < 40 * 30


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("full", Full()),
        ("causal", Causal()),
        ("window:64", Window(64, 64)),
        ("window:16,0", Window(16, 0)),
        ("window:16, 0, 2", Window(16, 0, 2)),
        ("window:16,0 & causal", And(Window(16, 0), Causal())),
        ("window:64 | globals:0", Or(Window(64), Globals((0,)))),
        ("globals:0,1", Globals((0, 1))),
        ("globals:none", Globals(())),
        ("chunk:16,2", Chunk(16, 2)),
        ("chunk:16", Chunk(16)),
        ("neighbourhood:4,5,1", Neighbourhood(4, 5, 1)),
        ("neighbourhood:4,5,1,1", Neighbourhood(4, 5, 1, 1)),
        ("fixed:128,32", Fixed(128, 32)),
        ("strided:128", Strided(128)),
        ("blocks:8,0+1//2", Blocks(8, ((0, 1), (), (2,)))),
        ("blocks:8,none", Blocks(8, ())),
        ("bigbird:4,40", big_bird(40, 4)),
        ("bigbird:4,40,2,1,7", big_bird(40, 4, window=2, randoms=1, seed=7)),
        ("Window:1|CAUSAL", Or(Window(1), Causal())),
        ("(window:1 | globals:0) & causal", And(Or(Window(1), Globals((0,))), Causal())),
        ("causal & (window:1 & ((window:2)))", And(Causal(), And(Window(1), Window(2)))),
    ],
)
def test_each_pattern_has_a_text(text: str, pattern: Pattern) -> None:
    assert read(text) == pattern


def test_and_binds_tighter_than_or() -> None:
    assert read("causal | window:1 & window:2") == Or(Causal(), And(Window(1), Window(2)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("window", "written window:LEFT[,RIGHT[,DILATION]]: it takes 1 to 3 whole numbers, and got none"),
        ("window:", "it takes 1 to 3 whole numbers, and got none"),
        ("window:1,2,3,4", "it takes 1 to 3 whole numbers, and got '1', '2', '3', '4'"),
        ("window:-1", "Window(left=-1, right=-1, dilation=1): left and right are at least 0"),
        ("window:1,1,0", "Window(left=1, right=1, dilation=0)"),
        ("window:1.5", "attention='window:1.5' does not fit"),
        ("window:1.5", "'1.5' is not a whole number"),
        ("window:1,,2", "'' is not a whole number"),
        ("window:1_0", "'1_0' is not a whole number"),
        ("window:٣", "'٣' is not a whole number"),
        (f"window:{LARGEST + 1}", f"{LARGEST + 1} is beyond {LARGEST}"),
        ("chunk:0", "Chunk(size=0, left_chunks=0): size is at least 1"),
        ("full:1", "it is written full, without arguments"),
        ("neighbourhood:4,4", "it takes 3 to 4 whole numbers, and got '4', '4'"),
        ("globals", "written globals:POSITION[,POSITION...]: it takes at least 1 whole numbers, and got none"),
        ("globals:-1", "Globals(index=(-1,)): positions are not negative"),
        ("strided:1,2", "it takes 1 whole number, and got '1', '2'"),
        ("fixed:4,5", "Fixed(size=4, summary=5): summary lies in 1 … size"),
        ("blocks:4", "it takes a size and rows of blocks, and got '4'"),
        ("blocks:4,0+a/1", "'a' is not a whole number"),
        ("bigbird:0,8", "the size is at least 1 and nothing is negative; got '0', '8'"),
        ("bigbird:4,8,-1", "nothing is negative; got '4', '8', '-1'"),
        ("bigbird:1,100000", "100000 positions are more than 4096 blocks of 1"),
        ("windwo:16", "Unknown attention (windwo:16). Did you mean 'window'?"),
        ("window:2 &", "attention='window:2 &' lacks a name beside & or |"),
        ("", "attention='' lacks a name beside & or |"),
        ("(window:2 | causal & causal", "attention='(window:2 | causal & causal' lacks a closing bracket"),
        ("window:2 | causal) & causal", "has ')' where it should end, or & or | should stand"),
        ("window:2 (causal)", "has '(' where it should end, or & or | should stand"),
        ("()", "attention='()' lacks a name beside & or |"),
        ("qk-norm", "'qk-norm' is a mechanism, and not a pattern"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_text(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        read(text)


@pytest.mark.parametrize(
    ("pattern", "length"),
    [
        (Full(), 0),
        (Causal(), 7),
        (Window(100), 7),
        (Neighbourhood(3, 4, 1), 12),
        (Neighbourhood(3, 4, 1, 2), 14),
        (Globals((0, 6)), 7),
        (Globals(()), 0),
        (big_bird(10, 4), 10),
        (Window(1) | Globals((0,)), 3),
    ],
)
def test_patterns_that_fit(pattern: Pattern, length: int) -> None:
    assert misfit(pattern, length) is None


@pytest.mark.parametrize(
    ("pattern", "length", "why"),
    [
        (Neighbourhood(3, 4, 1), 13, "neighbourhood:3,4,1 is a grid of 3 x 4: 12 positions, and there are 13"),
        (Neighbourhood(3, 4, 1, 1), 12, "a grid of 3 x 4 behind 1: 13 positions, and there are 12"),
        (Globals((0, 7)), 7, "globals:0,7 names position 7, and the 7 there are end at 6"),
        (big_bird(8, 4), 9, "has 2 blocks of 4, and 9 positions make 3"),
        (big_bird(12, 4), 8, "has 3 blocks of 4, and 8 positions make 2"),
        (Window(1) | Causal() & Globals((9,)), 3, "globals:9 names position 9"),
        (reduce(Or, [Globals((9,)), Window(1), Causal()]), 3, "globals:9 names position 9"),
    ],
)
def test_patterns_that_do_not_fit_say_why(pattern: Pattern, length: int, why: str) -> None:
    assert why in (misfit(pattern, length) or "")
