"""Normal forms: the same pairs, in the form that backends know."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.core import Causal, Chunk, EdgeBias, Edges, Explicit, Full, Globals, Window, attend, plan
from zoo.core.patterns.canonical import canonical
from zoo.core.patterns.pattern import Pattern
from zoo.testing.strategies import grouped_patterns, local_patterns, patterns

pytestmark = pytest.mark.usefixtures("float64")

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
    for form in (canonical(pattern), canonical(pattern, queries, keys, start)):
        assert torch.equal(form.mask(i, j).expand(1, 1, queries, keys), wanted)
    assert canonical(canonical(pattern)) == canonical(pattern)


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
    assert canonical(written) == form


def test_windows_of_different_dilation_do_not_merge() -> None:
    assert canonical(Window(4, 4, 2) & Window(4)) == Window(4, 4, 2) & Window(4)


def test_with_lengths_a_wide_window_is_full_or_causal() -> None:
    assert canonical(Window(9, 9), 10, 10, 0) == Full()
    assert canonical(Window(8, 9), 10, 10, 0) == Window(8, 9)
    assert canonical(Window(9, 0), 10, 10, 0) == Causal()
    assert canonical(Causal(), 1, 5, 4) == Full()
    assert canonical(Window(20, 0), 1, 5, 4) == Full()
    assert canonical(Window(9, 9), 10, 10, None) == Window(9, 9)


HUBS = Edges(torch.tensor([[0, 1, 3, 4], [1, 2, 3, 0]]))


@pytest.mark.parametrize(("queries", "keys", "start"), [(5, 5, 0), (2, 5, 3), (7, 4, 0), (5, 5, 2)])
@pytest.mark.parametrize("index", [(3,), (0, 2), ()])
def test_a_graph_with_globals_is_a_graph(queries: int, keys: int, start: int, index: tuple[int, ...]) -> None:
    i, j = torch.arange(start, start + queries)[None], torch.arange(keys)
    for joined in (HUBS | Globals(index), Globals(index) | HUBS):
        form = canonical(joined, queries, keys, start)
        assert isinstance(form, Edges)
        assert torch.equal(form.mask(i, j), joined.mask(i, j))
        assert form is canonical(joined, queries, keys, start)


def test_attention_on_a_graph_with_globals_costs_its_edges() -> None:
    joined = HUBS | Globals((3,))
    q, k, v = torch.randn(3, 1, 5, 2, 4).unbind()
    assert plan(joined, queries=5000, keys=5000, heads=2, head_dim=4).backend == "edges"
    wanted = attend(q, k, v, Explicit(joined.mask(torch.arange(5)[None], torch.arange(5))[0, 0]))
    torch.testing.assert_close(attend(q, k, v, joined, backend="edges"), wanted)


def test_what_belongs_to_edges_stays_with_them_beside_globals() -> None:
    bias = EdgeBias(HUBS, torch.randn(4, 2), torch.randn(4, 1, 4), torch.randn(4, 1, 4))
    q, k, v = torch.randn(3, 1, 5, 2, 4).unbind()
    joined = HUBS | Globals((3,))
    torch.testing.assert_close(
        attend(q, k, v, joined, bias=bias, backend="edges"), attend(q, k, v, joined, bias=bias, backend="reference")
    )
    mask = joined.mask(torch.arange(5)[None], torch.arange(5))[0, 0]
    scores = (torch.einsum("qhd,khd->hqk", q[0], k[0]) / 2).masked_fill(~mask, float("-inf"))
    values = v[0].transpose(0, 1)[:, None].repeat(1, 5, 1, 1)
    assert bias.added is not None
    assert bias.to_keys is not None
    assert bias.to_values is not None
    for edge, (source, target) in enumerate(HUBS.index.T.tolist()):
        scores[:, target, source] += bias.added[edge] + (q[0, target] * bias.to_keys[edge]).sum(-1) / 2
        values[:, target, source] += bias.to_values[edge]
    by_hand = torch.einsum("hqk,hqkd->qhd", scores.softmax(-1), values)
    torch.testing.assert_close(attend(q, k, v, joined, bias=bias)[0], by_hand)
