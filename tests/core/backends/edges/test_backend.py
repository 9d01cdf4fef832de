"""The edges backend: equal to a dense mask, at a cost that follows the edges."""

import subprocess
import sys
from collections.abc import Sequence
from math import prod
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from zoo.bench.speed.memory import peak_bytes
from zoo.core import ConfigError, Full, InputError, LeakySum, Lengths, Segments, Valid, attend, plan
from zoo.core.backends.edges import backend as edges
from zoo.core.backends.edges import edge_features, partition
from zoo.core.patterns.edge_types import EdgeKinds
from zoo.core.patterns.edges import Edges
from zoo.core.patterns.padding import Keys
from zoo.core.patterns.pattern import Pattern
from zoo.core.scoring.edge_bias import EdgeBias
from zoo.testing.strategies import Case, cases, random_cases


def graph(queries: int, keys: int, seed: int, share: float = 0.4) -> Edges:
    generator = torch.Generator().manual_seed(seed)
    index = (torch.rand(queries, keys, generator=generator) < share).nonzero().flip(1).T
    return Edges(index[:, torch.randperm(index.shape[1], generator=generator)])


def draw(b: int, q: int, k: int, h: int = 4, g: int = 2, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = [(b, q, h, 8), (b, k, g, 8), (b, k, g, 6)]
    return [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes]


def answer(tensors: Sequence[Tensor], pattern: Pattern, keys: Keys | None = None, **options: Any) -> Tensor:
    q, k, v = tensors
    return attend(q, k, v, pattern, keys, **options)


def with_gradients(y: Tensor, tensors: list[Tensor]) -> list[Tensor]:
    weights = torch.linspace(-1, 1, y.numel(), dtype=torch.float64).view_as(y)
    return [y, *torch.autograd.grad((y.double() * weights).sum(), tensors, materialize_grads=True)]


def by_edges(q: Tensor, k: Tensor, v: Tensor, index: Tensor, bias: list[Tensor] | None = None) -> Tensor:
    """One query and head at a time, over a plain list of edges; (queries, heads, d) each."""
    repeats = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
    answers = []
    for n in range(len(q)):
        mine = (index[1] == n).nonzero()[:, 0]
        source = index[0, mine]
        for h in range(q.shape[1]):
            keys, values, scores = k[source, h], v[source, h], k.new_zeros(())
            if bias is not None:
                added, to_keys, to_values = (x[mine].expand(-1, q.shape[1], *x.shape[2:])[:, h] for x in bias)
                keys, values, scores = keys + to_keys, values + to_values, added
            weights = (keys @ q[n, h] / q.shape[2] ** 0.5 + scores).softmax(0)
            answers.append(weights @ values)
    return torch.stack(answers).view(len(q), q.shape[1], -1)


@pytest.fixture(params=["together", "apart"])
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute all heads at once, or each head of keys alone, and gradients of edges one by one."""
    for module in (partition, edge_features):
        monkeypatch.setattr(module, "BLOCK", 1 << 20 if request.param == "together" else 1)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("sizes", [(7, 7), (5, 9), (9, 4), (1, 1)])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.usefixtures("_blocks")
def test_values_and_gradients_equal_a_dense_mask(batch: int, sizes: tuple[int, int], share: float) -> None:
    pattern, tensors = graph(*sizes, 0, share), draw(batch, *sizes)
    got = with_gradients(answer(tensors, pattern, backend="edges"), tensors)
    wanted = with_gradients(answer(tensors, pattern, backend="reference"), tensors)
    torch.testing.assert_close(got, wanted, atol=1e-12, rtol=1e-12)


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("sets", ["lengths", "valid", "segments"])
def test_padding_and_packing_equal_a_dense_mask_and_leak_nothing(sets: str) -> None:
    pattern, tensors = graph(6, 8, 1, 0.6), draw(2, 6, 8)
    ids = torch.tensor([[0, 0, 1, 1, 1, -1, 2, 2], [-1, 0, 0, 0, 1, 1, 1, 1]])
    keys: dict[str, Keys] = {
        "lengths": Lengths(torch.tensor([3, 0])),
        "valid": Valid(torch.rand(2, 8, generator=torch.Generator().manual_seed(0)) < 0.5),
        "segments": Segments(ids, ids[:, :6].clamp(min=0)),
    }
    missing = ~keys[sets].valid(2, 8, torch.device("cpu"))
    wanted = with_gradients(answer(tensors, pattern, keys[sets], backend="reference"), tensors)
    for x in tensors[1:]:
        x.data[missing] = torch.nan
    got = with_gradients(answer(tensors, pattern, keys[sets], backend="edges"), tensors)
    torch.testing.assert_close(got, wanted, atol=1e-12, rtol=1e-12)


def test_a_part_of_the_queries_gives_a_part_of_the_answers() -> None:
    q, k, v = draw(2, 8, 8)
    pattern = graph(8, 8, 2)
    whole = attend(q, k, v, pattern, backend="edges")
    torch.testing.assert_close(attend(q[:, 3:6], k, v, pattern, q_start=3, backend="edges"), whole[:, 3:6])


@pytest.mark.parametrize("duplicates", ["once", "each"])
def test_equal_edges_count_as_chosen(duplicates: str) -> None:
    index = torch.tensor([[0, 2, 0, 1, 0, 2], [1, 1, 1, 0, 1, 2]])
    counted = index if duplicates == "each" else torch.tensor([[0, 2, 1, 2], [1, 1, 0, 2]])
    q, k, v = draw(1, 3, 3)
    y = attend(q, k, v, Edges(index, duplicates), backend="edges")  # type: ignore[arg-type]
    torch.testing.assert_close(y[0], by_edges(q[0], k[0], v[0], counted))


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("repeated", [False, True])
def test_what_edges_add_equals_a_loop_over_queries(heads: int, repeated: bool) -> None:
    index = graph(5, 6, 3, 0.5).index
    index = torch.cat([index, index[:, :4]], 1) if repeated else index
    pattern, tensors = Edges(index, "each"), draw(1, 5, 6)
    generator = torch.Generator().manual_seed(4)
    shapes = [(index.shape[1], heads), (index.shape[1], 1, 8), (index.shape[1], heads, 6)]
    tensors += [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes]
    q, k, v, *bias = tensors
    got = attend(q, k, v, pattern, bias=EdgeBias(pattern, *bias), backend="edges")
    wanted = by_edges(q[0], k[0], v[0], index, bias)[None]
    torch.testing.assert_close(with_gradients(got, tensors), with_gradients(wanted, tensors), atol=1e-12, rtol=1e-12)


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("few", [8, 0])
@pytest.mark.parametrize("table", [1 << 18, 20])
@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("backend", ["edges", "scatter", "reference"])
def test_edges_of_a_kind_add_the_same(
    few: int, table: int, heads: int, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edges, "FEW", few)
    monkeypatch.setattr(edge_features, "TABLE", table)
    pattern, tensors = graph(9, 6, 3, 0.5), draw(2, 9, 6)
    generator = torch.Generator().manual_seed(4)
    count = pattern.index.shape[1]
    kinds = EdgeKinds(torch.randint(3, (count,), generator=generator), 3)
    shapes = [(3, heads), (3, heads, 8)] + [(3, 1, 6)] * (backend != "reference")
    tensors += [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes]
    q, k, v, *of_kinds = tensors
    bias = EdgeBias(pattern, *of_kinds, kinds=kinds)
    own = EdgeBias(pattern, *(x[kinds.of] for x in of_kinds))
    got = attend(q, k, v, pattern, bias=bias, backend=backend)
    wanted = attend(q, k, v, pattern, bias=own, backend="edges")
    torch.testing.assert_close(with_gradients(got, tensors), with_gradients(wanted, tensors), atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("backend", ["edges", "scatter"])
@pytest.mark.parametrize("size", [1, 8])
def test_kinds_of_edges_are_known_to_every_score(size: int, backend: str) -> None:
    pattern, generator = graph(9, 9, 3, 0.5), torch.Generator().manual_seed(4)
    kinds = EdgeKinds(torch.randint(2, (pattern.index.shape[1],), generator=generator), 2)
    shapes = [(1, 9, 4, size), (1, 9, 4, size), (1, 9, 4, 6), (2, 4, size)]
    tensors = [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes]
    q, k, v, of_kinds = tensors
    score = LeakySum(torch.randn(4, size, generator=generator, dtype=torch.float64))
    answers = [
        attend(q, k, v, pattern, bias=bias, score=score, backend=backend)
        for bias in (
            EdgeBias(pattern, to_keys=of_kinds, kinds=kinds),
            EdgeBias(pattern, to_keys=of_kinds[kinds.of]),
        )
    ]
    got, wanted = (with_gradients(y, tensors) for y in answers)
    torch.testing.assert_close(got, wanted, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("repeated", [False, True])
def test_numbers_and_keys_of_edges_equal_their_dense_form(repeated: bool) -> None:
    index = graph(5, 6, 3, 0.5).index
    index = torch.cat([index, index[:, :4]], 1) if repeated else index
    pattern, tensors = Edges(index, "each"), draw(2, 5, 6)
    generator = torch.Generator().manual_seed(4)
    shapes = [(index.shape[1], 4), (index.shape[1], 4, 8)]
    tensors += [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes]
    answers = []
    for backend in ("edges", "reference", "dense"):
        y = answer(tensors[:3], pattern, bias=EdgeBias(pattern, *tensors[3:]), backend=backend)
        answers.append(with_gradients(y, tensors))
    torch.testing.assert_close(answers[0], answers[1], atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(answers[0], answers[2], atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("dropout", [pytest.param(0.0, marks=pytest.mark.slow), 0.4])
def test_gradients_equal_finite_differences_with_dropout_too(dropout: float) -> None:
    pattern = graph(4, 5, 5, 0.5)
    edges = pattern.index.shape[1]
    shapes = [(2, 4, 2, 3), (2, 5, 1, 3), (2, 5, 1, 2), (edges, 2), (edges, 1, 3), (edges, 2, 2)]
    tensors = [torch.randn(s, dtype=torch.float64).requires_grad_() for s in shapes]

    def dropped(*t: Tensor) -> Tensor:
        torch.manual_seed(0)
        bias = EdgeBias(pattern, *t[3:])
        return attend(t[0], t[1], t[2], pattern, bias=bias, dropout=dropout, backend="edges")

    assert torch.autograd.gradcheck(dropped, tensors)


def test_dropout_drops_weights_and_keeps_the_mean() -> None:
    n = 3000
    pattern = Edges(torch.stack([torch.arange(4).repeat(n), torch.arange(n).repeat_interleave(4)]))
    q, k, v = torch.zeros(1, n, 1, 1), torch.zeros(1, 4, 1, 1), torch.ones(1, 4, 1, 1)
    y = attend(q, k, v, pattern, dropout=0.5, backend="edges")
    assert y.std() > 0.1
    assert abs(float(y.mean()) - 1) < 0.05


@pytest.mark.parametrize(("dtype", "close"), [(torch.bfloat16, 2e-2), (torch.float32, 1e-5)])
def test_lower_precisions_stay_near(dtype: torch.dtype, close: float) -> None:
    pattern = graph(9, 9, 6)
    low = [x.detach().to(dtype).requires_grad_() for x in draw(2, 9, 9)]
    exact = [x.detach().double().requires_grad_() for x in low]
    got = with_gradients(answer(low, pattern, backend="edges"), low)
    wanted = with_gradients(answer(exact, pattern, backend="reference"), exact)
    assert got[0].dtype == dtype
    torch.testing.assert_close([x.double() for x in got], wanted, atol=close, rtol=close)


@given(n=st.integers(1, 9), seed=st.integers(0, 999))
@random_cases(20)
def test_a_relabelled_graph_gives_relabelled_answers(n: int, seed: int) -> None:
    pattern, (q, k, v) = graph(n, n, seed), draw(1, n, n, seed=seed)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    renamed = Edges(order.argsort()[pattern.index])
    moved = attend(q[:, order], k[:, order], v[:, order], renamed, backend="edges")
    torch.testing.assert_close(moved, attend(q, k, v, pattern, backend="edges")[:, order], atol=1e-12, rtol=1e-12)


def test_large_scores_do_not_overflow() -> None:
    q, k, v = (x.detach() * 1e3 for x in draw(1, 4, 4))
    one, pattern = (q.float(), k.float(), v.float()), graph(4, 4, 7, 0.9)
    torch.testing.assert_close(attend(*one, pattern, backend="edges"), attend(*one, pattern, backend="reference"))


def test_memory_of_a_training_step_follows_the_edges() -> None:
    def step(n: int) -> int:
        generator = torch.Generator().manual_seed(0)
        pattern = Edges(torch.randint(n, (2, 32 * n), generator=generator), "each")
        tensors = [torch.randn(1, n, 4, 16, generator=generator).requires_grad_() for _ in range(3)]

        def run() -> None:
            torch.autograd.grad(answer(tensors, pattern, backend="edges").sum(), tensors)

        run()
        return peak_bytes(run)

    one, two = step(2000), step(4000)
    assert two <= 2.15 * one
    assert two < 32 * 4000 * 4 * 16 * 4  # a single tensor of vectors by edge


def test_planned_operations_follow_the_edges() -> None:
    plans = []
    for n in (1000, 2000):
        pattern = Edges(torch.randint(n, (2, 8 * n), generator=torch.Generator().manual_seed(0)), "each")
        plans.append(plan(pattern, queries=n, keys=n, heads=4, head_dim=16, value_dim=8, batch=2, backend="edges"))
    assert plans[0].flops == 2 * 2 * 8000 * 4 * (16 + 8)
    assert plans[1].flops == 2 * plans[0].flops
    assert plans[1].bytes <= 2.15 * plans[0].bytes


def test_a_sparse_graph_is_planned_on_edges_and_a_small_dense_one_is_not() -> None:
    sparse, dense = graph(2000, 2000, 0, 0.005), graph(60, 60, 0, 0.7)
    assert plan(sparse, queries=2000, keys=2000, heads=4, head_dim=16).backend == "edges"
    assert plan(dense, queries=60, keys=60, heads=4, head_dim=16).backend == "dense"


@pytest.mark.parametrize(
    ("pattern", "change", "text"),
    [
        (Full(), {}, "it serves Edges alone"),
        (graph(3, 3, 0), {"return_weights": True}, "it keeps no weights"),
        (graph(3, 3, 0), {"bias": torch.zeros(1, 1, 3, 3, dtype=torch.float64)}, "not a dense bias"),
    ],
)
def test_what_it_cannot_serve_is_refused(pattern: Pattern, change: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        answer(draw(2, 3, 3), pattern, backend="edges", **change)


def test_a_bias_of_another_graph_or_of_other_heads_is_refused() -> None:
    one, other = graph(3, 3, 0, 0.9), graph(3, 3, 1, 0.9)
    with pytest.raises(InputError, match="it is made for another graph"):
        answer(draw(1, 3, 3), one, bias=EdgeBias(other, torch.zeros(other.index.shape[1], 1)), backend="edges")
    with pytest.raises(InputError, match="an EdgeBias of 3 heads for 4 heads"):
        answer(draw(1, 3, 3), one, bias=EdgeBias(one, torch.zeros(one.index.shape[1], 3)), backend="edges")


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.usefixtures("float64")
def test_equals_transformer_conv(features: bool) -> None:
    conv_of = pytest.importorskip("torch_geometric.nn").TransformerConv
    torch.manual_seed(0)
    index = torch.randint(12, (2, 60))  # with self-loops and equal edges
    x, edge_attr = torch.randn(12, 10), torch.randn(60, 5)
    conv = conv_of(10, 8, heads=3, edge_dim=5 if features else None, root_weight=False)
    wanted = conv(x, index, edge_attr if features else None)
    q, k, v = (layer(x).view(1, 12, 3, 8) for layer in (conv.lin_query, conv.lin_key, conv.lin_value))
    pattern, bias = Edges(index, "each"), None
    if features:
        vectors = conv.lin_edge(edge_attr).view(60, 3, 8)
        bias = EdgeBias(pattern, to_keys=vectors, to_values=vectors)
    y = attend(q, k, v, pattern, bias=bias, backend="edges")
    torch.testing.assert_close(y.flatten(2)[0], wanted)


COMPILED = """
import torch
from zoo.core import attend
from zoo.core.patterns.edges import Edges

torch.set_default_dtype(torch.float64)
pattern = Edges(torch.tensor([[0, 1, 2, 3], [1, 0, 1, 3]]))
results = []
for compiled in (False, True):
    ours = lambda q, k, v: attend(q, k, v, pattern, backend="edges") * 2
    if compiled:
        ours = torch.compile(ours, backend="aot_eager")
    torch.manual_seed(0)
    tensors = [torch.randn(2, 4, 2, 8, requires_grad=True) for _ in range(3)]
    y = ours(*tensors)
    results.append([y, *torch.autograd.grad(y.square().sum(), tensors)])
torch.testing.assert_close(*results)
"""


@pytest.mark.slow
def test_answers_and_gradients_are_the_same_beside_compiled_code() -> None:
    done = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@given(case=cases("edges"), dropout=st.sampled_from([0.0, 0.3]), added=st.booleans())
@random_cases(30)
def test_weights_that_are_kept_change_no_number(case: Case, dropout: float, added: bool) -> None:
    assert isinstance(case.pattern, Edges)
    results = []
    for limit in (0, edges.REMEMBERED):
        tensors = case.tensors()
        tails = (), (case.head_dim,), (case.value_dim,)
        shapes = [(case.pattern.index.shape[1], 4, *tail) for tail in tails]
        vectors = [torch.linspace(-1, 1, prod(x)).double().view(x).requires_grad_() for x in shapes]
        bias = EdgeBias(case.pattern, *vectors) if added else None
        torch.manual_seed(0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(edges, "REMEMBERED", limit)
            y = case.attend(tensors, backend="edges", dropout=dropout, bias=bias)
            results.append([y, *torch.autograd.grad(y.square().sum(), tensors + vectors * added, allow_unused=True)])
    torch.testing.assert_close(*results, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("block", [1, 80, 1000])  # a head, a row, or all at once
def test_each_row_and_head_draws_its_own_dropout(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(partition, "BLOCK", block)
    pattern = Edges(torch.arange(40).repeat(2, 1))
    q, v = torch.zeros(2, 40, 2, 1), torch.ones(2, 40, 2, 1)
    y = attend(q, q, v, pattern, dropout=0.5, backend="edges").transpose(1, 2).flatten(0, 1)[..., 0]
    assert len(y.unique(dim=0)) == 4


def test_padding_behind_packed_sets_reads_nothing_not_even_padding() -> None:
    ids, pattern = torch.tensor([[0, 0, 1, 1, -1, -1], [-1, 0, 0, 1, 1, 1]]), graph(6, 6, 1, 0.8)
    added = torch.ones(pattern.index.shape[1], 1, 6, dtype=torch.float64)
    bias = EdgeBias(pattern, to_values=added)
    y = answer(draw(2, 6, 6), pattern, Segments(ids, ids), bias=bias, backend="edges")
    assert y[ids >= 0].any()
    assert not y[ids < 0].any()


def test_weights_are_kept_up_to_a_limit_only(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern, tensors = graph(6, 6, 1), draw(2, 6, 6)
    entries = 2 * 4 * pattern.index.shape[1]

    def kept(limit: int) -> int:
        monkeypatch.setattr(edges, "REMEMBERED", limit)
        sizes: list[int] = []
        with torch.autograd.graph.saved_tensors_hooks(lambda x: sizes.append(x.numel()), lambda x: x):
            answer(tensors, pattern, backend="edges")
        return sum(sizes)

    assert kept(entries) - kept(entries - 1) == entries


@pytest.mark.parametrize("count", [3, 12])
def test_pairs_may_count_more_often_than_there_are_pairs(count: int) -> None:
    pattern = Edges(torch.arange(2).repeat(count)[None] * torch.tensor([[1], [0]]), "each")
    tensors = draw(2, 1, 2)
    got = with_gradients(answer(tensors, pattern, backend="edges"), tensors)
    torch.testing.assert_close(got, with_gradients(answer(tensors, Full()), tensors), atol=1e-12, rtol=1e-12)


def test_no_rows_give_no_answers() -> None:
    tensors = draw(0, 3, 3)
    y = answer(tensors, graph(3, 3, 0))
    assert y.shape == (0, 3, 4, 6)
    assert [g.shape for g in with_gradients(y, tensors)[1:]] == [x.shape for x in tensors]


def test_a_bias_that_closes_an_edge_has_second_derivatives_on_other_backends() -> None:
    q, k, v = draw(1, 2, 2, h=1, g=1)
    added = torch.tensor([[0.5], [-torch.inf], [1.0]], dtype=torch.float64, requires_grad=True)
    pattern = Edges(torch.tensor([[0, 1, 1], [0, 0, 1]]))

    def second(backend: str) -> tuple[Tensor, ...]:
        y = attend(q, k, v, pattern, bias=EdgeBias(pattern, added), backend=backend)
        once = torch.autograd.grad(y.sin().sum(), [q, added], create_graph=True)
        return torch.autograd.grad(once[0].sum() + once[1].sum(), [q, k, v, added])

    for backend in ("dense", "scatter"):
        torch.testing.assert_close(second(backend), second("explicit"))


@pytest.mark.parametrize("adds_values", [False, True])
@pytest.mark.parametrize("closed", [(1, 2), (1, 2, 3), (0, 1, 2, 4), (2, 3)])
def test_biases_that_close_equal_edges_give_one_answer_and_its_derivatives_everywhere(
    closed: tuple[int, ...], adds_values: bool
) -> None:
    q, k, v = draw(1, 2, 2, h=1, g=1)
    added = torch.linspace(-1, 1, 5, dtype=torch.float64)[:, None].clone()
    added[list(closed)] = -torch.inf
    added.requires_grad_()
    pattern = Edges(torch.tensor([[0, 1, 1, 1, 0], [0, 0, 0, 1, 0]]), duplicates="each")
    to_values = torch.ones(5, 1, 6, dtype=torch.float64).cumsum(0) if adds_values else None

    def found(backend: str) -> list[tuple[Tensor, ...]]:
        y = attend(q, k, v, pattern, bias=EdgeBias(pattern, added, None, to_values), backend=backend)
        second = backend != "edges"
        once = torch.autograd.grad(y.sin().sum(), [q, k, v, added], create_graph=second)
        twice = torch.autograd.grad([x.sum() for x in once], [q, k, v, added]) if second else ()
        return [(y,), once, twice]

    scattered = found("scatter")
    assert all(x.isfinite().all() for part in scattered for x in part)
    for backend in ("explicit", "reference", "edges", *([] if adds_values else ["dense"])):
        for ours, theirs in zip(found(backend), scattered, strict=True):
            torch.testing.assert_close(ours, theirs[: len(ours)])


@pytest.mark.parametrize("share", [0.04, 0.9])
@pytest.mark.parametrize("factor", [1.0, 40.0])
def test_scores_near_and_far_and_few_and_many_entries_equal_a_dense_mask(factor: float, share: float) -> None:
    pattern, tensors = graph(24, 24, 1, share), draw(1, 24, 24)
    q, k, v = tensors
    found = with_gradients(attend(q * factor, k, v, pattern, backend="edges"), tensors)
    wanted = with_gradients(attend(q * factor, k, v, pattern, backend="reference"), tensors)
    torch.testing.assert_close(found, wanted)
    scores = torch.einsum("bqhd,bkgd->hgqk", q, k).detach() * factor / 8**0.5
    assert (scores.max() - scores.min() > edges.NEAR) == (factor > 1)  # both ways are taken
    entries = pattern.index.shape[1] * q.shape[2]
    assert (edges.FEWER * entries <= found[0].numel()) == (share < 0.5)


def test_scores_far_apart_lose_no_weight() -> None:
    far = Edges(torch.tensor([[0, 1, 2, 3], [0, 0, 1, 1]]))
    q, v = torch.ones(1, 2, 1, 1), torch.eye(4)[None, :, None]
    k = torch.tensor([500.0, 499.0, -500.0, -501.0]).view(1, 4, 1, 1)
    first, second = attend(q, k, v, far, score="dot", backend="edges")[0, :, 0]
    torch.testing.assert_close(first[:2], torch.tensor([1.0, 0.0]).softmax(0))
    torch.testing.assert_close(second[2:], first[:2])
