"""Scores on edges that are no products: equal to their formula, edge by edge, and no vector is kept for an edge."""

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from zoo.core import EdgeBias, Edges, InputError, LeakySum, Lengths, Segments, attend, plan
from zoo.core.backends.edges import backend as edges
from zoo.core.backends.edges import partition
from zoo.core.backends.edges import scores as edge_scores
from zoo.core.patterns.padding import Keys
from zoo.testing.strategies import random_cases


def graph(queries: int, keys: int, seed: int = 0, share: float = 0.5, again: int = 0) -> Edges:
    generator = torch.Generator().manual_seed(seed)
    index = (torch.rand(queries, keys, generator=generator) < share).nonzero().flip(1).T
    index = index[:, torch.randperm(index.shape[1], generator=generator)]
    return Edges(torch.cat([index, index[:, :again]], 1), "each")


def draw(channels: int, b: int = 1, q: int = 5, k: int = 6, h: int = 4, g: int = 2) -> list[Tensor]:
    """Queries, keys and values, and the vector of the score."""
    generator = torch.Generator().manual_seed(channels)
    shapes = [(b, q, h, channels), (b, k, g, channels), (b, k, g, 3), (h, channels)]
    return [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]


def answer(tensors: list[Tensor], pattern: Edges, keys: Keys | None = None, **options: Any) -> Tensor:
    q, k, v, *_ = tensors
    return attend(q, k, v, pattern, keys, **options)


def of_edges(pattern: Edges, channels: int, heads: int = 4) -> list[Tensor]:
    """Numbers for scores, vectors for keys and for values."""
    generator = torch.Generator().manual_seed(7)
    e = pattern.index.shape[1]
    shapes = [(e, heads), (e, heads, channels), (e, 1, 3)]
    return [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]


def by_loops(tensors: list[Tensor], index: Tensor, bias: list[Tensor] | None = None, slope: float = 0.2) -> Tensor:
    """The formula for one query and head at a time, over a plain list of edges."""
    q, k, v, u = tensors
    shared = q.shape[2] // k.shape[2]
    y = q.new_zeros(*q.shape[:3], v.shape[3])
    for b in range(len(q)):
        for i in range(q.shape[1]):
            mine = (index[1] == i).nonzero()[:, 0].tolist()
            for h in range(q.shape[2] if mine else 0):
                scores, values = [], []
                for e in mine:
                    key, value, added = k[b, index[0, e], h // shared], v[b, index[0, e], h // shared], q.new_zeros(())
                    if bias is not None:
                        added, to_key, to_value = (x[e].expand(q.shape[2], *x.shape[2:])[h] for x in bias)
                        key, value = key + to_key, value + to_value
                    inside = q[b, i, h] + key
                    scores.append((u[h] * torch.where(inside > 0, inside, slope * inside)).sum() + added)
                    values.append(value)
                y[b, i, h] = torch.stack(scores).softmax(0) @ torch.stack(values)
    return y


def with_gradients(y: Tensor, tensors: list[Tensor]) -> list[Tensor]:
    weights = torch.linspace(-1, 1, y.numel(), dtype=torch.float64).view_as(y)
    return [y, *torch.autograd.grad((y * weights).sum(), tensors, materialize_grads=True)]


@pytest.fixture(params=["together", "apart"])
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute all heads and edges at once, or each head of keys alone, three numbers at a time."""
    together = request.param == "together"
    monkeypatch.setattr(partition, "BLOCK", 1 << 20 if together else 1)
    monkeypatch.setattr(edges, "VECTORS", 1 << 20 if together else 1)
    monkeypatch.setattr(edge_scores, "NUMBERS", {"cpu": 1 << 20 if together else 3})


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("backend", ["edges", "scatter", "reference", "explicit"])
@pytest.mark.usefixtures("_blocks")
def test_values_and_gradients_equal_a_loop_over_edges(channels: int, biased: bool, backend: str) -> None:
    pattern, tensors = graph(5, 6, again=4), draw(channels, b=1 if biased else 2)
    bias = of_edges(pattern, channels) if biased else []
    score = LeakySum(tensors[3])
    added = EdgeBias(pattern, *bias) if biased else None
    got = answer(tensors, pattern, bias=added, score=score, backend=backend)
    wanted = by_loops(tensors, pattern.index, bias or None)
    torch.testing.assert_close(with_gradients(got, tensors + bias), with_gradients(wanted, tensors + bias))


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.usefixtures("_blocks")
def test_a_gradient_is_the_same_whichever_others_are_wanted(channels: int) -> None:
    pattern = graph(5, 6)
    tensors = [*draw(channels), *of_edges(pattern, channels)]

    def gradients() -> list[Tensor]:
        y = answer(
            tensors[:3], pattern, bias=EdgeBias(pattern, *tensors[4:]), score=LeakySum(tensors[3]), backend="edges"
        )
        return with_gradients(y, [x for x in tensors if x.requires_grad])[1:]

    everything = gradients()
    subsets = itertools.product([False, True], repeat=len(tensors))
    for needs in [needs for needs in subsets if sum(needs) in (1, 2, len(tensors) - 1)]:
        for x, need in zip(tensors, needs, strict=True):
            x.requires_grad_(need)
        torch.testing.assert_close(gradients(), [x for x, need in zip(everything, needs, strict=True) if need])


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.usefixtures("_blocks")
def test_padding_and_packing_equal_the_formula_and_leak_nothing(channels: int) -> None:
    pattern, tensors = graph(6, 6, 1), draw(channels, b=2, q=6)
    ids = torch.tensor([[0, 0, 1, 1, 1, -1], [-1, 0, 0, 0, 1, 1]])
    for keys in (Lengths(torch.tensor([3, 0])), Segments(ids)):
        score = LeakySum(tensors[3])
        wanted = with_gradients(answer(tensors, pattern, keys, score=score, backend="reference"), tensors)
        poisoned = [x.detach().clone() for x in tensors]
        for x in poisoned[1:3]:
            x[~keys.valid(2, 6, torch.device("cpu"))] = torch.nan
        poisoned = [x.requires_grad_() for x in poisoned]
        y = answer(poisoned, pattern, keys, score=LeakySum(poisoned[3]), backend="edges")
        torch.testing.assert_close(with_gradients(y, poisoned), wanted)


@given(st.integers(0, 12), st.integers(1, 12), st.sampled_from([1, 3]), st.floats(0, 1), st.sampled_from([0.0, 0.4]))
@random_cases(30)
def test_weights_that_are_kept_change_no_number(q: int, k: int, channels: int, share: float, dropout: float) -> None:
    pattern, results = graph(q, k, q, share), []
    for limit in (0, edges.REMEMBERED):
        tensors = draw(channels, q=q, k=k)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(edges, "REMEMBERED", limit)
            torch.manual_seed(0)
            score = LeakySum(tensors[3])
            results.append(with_gradients(answer(tensors, pattern, score=score, dropout=dropout), tensors))
    torch.testing.assert_close(*results)


def test_at_zero_the_slope_is_that_of_torch() -> None:
    pattern = Edges(torch.tensor([[0, 1], [0, 0]]))
    results: list[Any] = []
    for backend in ("edges", "reference"):
        q, k = torch.zeros(1, 1, 1, 2, requires_grad=True), torch.zeros(1, 2, 1, 2, requires_grad=True)
        v = torch.tensor([1.0, 3.0]).view(1, 2, 1, 1)
        y = attend(q, k, v, pattern, score=LeakySum(torch.ones(1, 2)), backend=backend)
        results.append(torch.autograd.grad(y.sum(), k)[0])
    torch.testing.assert_close(*results)
    assert results[0].any()


def kept_bytes(q: Tensor, k: Tensor, pattern: Edges, u: Tensor) -> int:
    """Count what is kept for the backward pass."""
    kept: dict[int, int] = {}

    def note(x: Tensor) -> Tensor:
        kept[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(note, lambda x: x):
        attend(q, k, k, pattern, score=LeakySum(u), backend="edges")
    return sum(kept.values())


def test_no_vector_is_kept_for_an_edge() -> None:
    pattern = graph(40, 40, share=0.5)
    q, k = (torch.randn(1, 40, 2, 32, requires_grad=True) for _ in range(2))
    assert kept_bytes(q, k, pattern, torch.randn(2, 32)) < pattern.index.shape[1] * 2 * 32 * 4


def test_the_planner_takes_edges_for_large_graphs() -> None:
    pattern = Edges(torch.randint(4000, (2, 20_000), generator=torch.Generator().manual_seed(0)), "each")
    chosen = plan(pattern, queries=4000, keys=4000, heads=4, head_dim=16, score="LeakySum", bias="edges", grad=True)
    assert chosen.backend == "edges"


@pytest.mark.parametrize("backend", ["edges", "scatter", "reference"])
def test_a_vector_for_other_heads_or_channels_is_refused(backend: str) -> None:
    q, k, v, _ = draw(3)
    for shape in ((3, 3), (4, 2)):
        with pytest.raises(InputError, match=r"LeakySum\(v of .*\) for 4 heads of 3 channels"):
            attend(q, k, v, graph(5, 6), score=LeakySum(torch.zeros(shape).double()), backend=backend)


@pytest.mark.parametrize("channels", [1, 3])
def test_one_target_alone_is_answered(channels: int) -> None:
    pattern, tensors = Edges(torch.tensor([[0, 1, 2], [0, 0, 0]])), draw(channels, q=1, k=3)
    *_, u = tensors
    got = answer(tensors, pattern, score=LeakySum(u), backend="edges")
    wanted = by_loops(tensors, pattern.index)
    for y, other in zip(
        torch.autograd.grad(got.sum(), tensors), torch.autograd.grad(wanted.sum(), tensors), strict=True
    ):
        torch.testing.assert_close(y, other, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(got, wanted, atol=1e-12, rtol=1e-12)
