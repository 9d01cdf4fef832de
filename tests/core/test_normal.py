"""Normal forms: the same pairs, in the form that backends know."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.core import Causal, Chunk, Full, Globals, Window
from zoo.core.normal import normal
from zoo.core.pattern import Pattern
from zoo.testing.strategies import grouped_patterns, local_patterns, patterns

sizes = st.integers(0, 9)


@given(
    pattern=st.one_of(patterns(), local_patterns(), grouped_patterns()),
    queries=sizes,
    keys=sizes,
    start=st.integers(0, 9),
)
@settings(max_examples=200, deadline=None)
def test_the_normal_form_allows_the_same(pattern: Pattern, queries: int, keys: int, start: int) -> None:
    i, j = torch.arange(start, start + queries)[None], torch.arange(keys)
    wanted = pattern.mask(i, j).expand(1, 1, queries, keys)
    for form in (normal(pattern), normal(pattern, queries, keys, start)):
        assert torch.equal(form.mask(i, j).expand(1, 1, queries, keys), wanted)
    assert normal(normal(pattern)) == normal(pattern)


@pytest.mark.parametrize(
    ("written", "form"),
    [
        (Causal() & Window(5, 3), Window(5, 0)),
        (Window(5, 3) & Causal(), Window(5, 0)),
        (Window(5, 3) & Window(2, 4), Window(2, 3)),
        (Window(5, 3) | Window(2, 4), Window(5, 4)),
        (Window(5, 3, 2) & Window(2, 4, 2), Window(2, 3, 2)),
        (Causal() | Window(5, 0), Causal()),
        (Chunk(1, 4), Window(4, 0)),
        (Globals((1, 0)) | Globals((2,)), Globals((0, 1, 2))),
        (Causal() & Causal() & Causal(), Causal()),
        ((Window(3) | Full()) & Causal(), Causal()),
        (Causal() & (Window(4) & Chunk(1, 9)), Window(4, 0)),
    ],
)
def test_forms(written: Pattern, form: Pattern) -> None:
    assert normal(written) == form


def test_windows_of_different_dilation_do_not_merge() -> None:
    assert normal(Window(4, 4, 2) & Window(4)) == Window(4, 4, 2) & Window(4)


def test_with_lengths_a_wide_window_is_full_or_causal() -> None:
    assert normal(Window(9, 9), 10, 10, 0) == Full()
    assert normal(Window(8, 9), 10, 10, 0) == Window(8, 9)
    assert normal(Window(9, 0), 10, 10, 0) == Causal()
    assert normal(Causal(), 1, 5, 4) == Full()
    assert normal(Window(20, 0), 1, 5, 4) == Full()
    assert normal(Window(9, 9), 10, 10, None) == Window(9, 9)
