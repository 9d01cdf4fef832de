"""`attend` and `plan`: the formula, and the choice of a backend; the laws are in test_laws.py."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from zoo.core import (
    Attention,
    Blocks,
    Causal,
    ConfigError,
    Explicit,
    Fixed,
    Full,
    Globals,
    Kernel,
    Lengths,
    Plan,
    Strided,
    Tokens,
    Valid,
    Window,
    attend,
    plan,
)
from zoo.core.engine.partition import _rows_pay_cached
from zoo.core.engine.planner import _choose_cached
from zoo.core.patterns.padding import Keys
from zoo.core.patterns.pattern import Pattern
from zoo.testing.strategies import random_cases

ANY_PATTERN = ["dense", "explicit", "reference"]
"""Backends that serve every pattern."""


def draw(
    seed: int, b: int, q: int, k: int, h: int = 2, g: int = 1, d: int = 8, e: int = 6
) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = [(b, q, h, d), (b, k, g, d), (b, k, g, e)]
    q_, k_, v_ = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes)
    return q_, k_, v_


def by_loops(q: Tensor, k: Tensor, v: Tensor, may_read: Tensor, scale: float, bias: Tensor | None = None) -> Tensor:
    """Attention one query at a time; `may_read` is (b, h, q, k)."""
    b, n, h, _ = q.shape
    group = h // k.shape[2]
    y = q.new_zeros(b, n, h, v.shape[-1])
    for row in range(b):
        for i in range(n):
            for head in range(h):
                read = may_read[row, head, i].nonzero()[:, 0]
                if len(read):
                    scores = k[row, read, head // group] @ q[row, i, head] * scale
                    if bias is not None:
                        scores = scores + bias[head, i, read]
                    y[row, i, head] = scores.softmax(0) @ v[row, read, head // group]
    return y


@st.composite
def problems(draw_from: st.DrawFn) -> tuple[Pattern, Keys | None, int, int, int]:
    b, q, k = draw_from(st.integers(1, 2)), draw_from(st.integers(0, 5)), draw_from(st.integers(0, 5))
    seed = draw_from(st.integers(0, 1000))
    generator = torch.Generator().manual_seed(seed)
    random = [Explicit(torch.rand(*lead, q, k, generator=generator) < 0.5) for lead in ((), (b,), (b, 2))]
    patterns = [Full(), Causal(), *random, Causal() & random[0], Causal() | random[2]]
    keys = [None, Lengths(torch.randint(0, k + 1, (b,), generator=generator)), Valid(torch.rand(b, k) < 0.6)]
    return draw_from(st.sampled_from(patterns)), draw_from(st.sampled_from(keys)), b, q, k


def whole_mask(pattern: Pattern, keys: Keys | None, b: int, q: int, k: int) -> Tensor:
    mask = pattern.mask(torch.arange(q)[None], torch.arange(k)).expand(b, 2, q, k)
    return mask if keys is None else mask & keys.valid(b, k, torch.device("cpu"))[:, None, None]


@pytest.mark.parametrize("backend", ANY_PATTERN)
@pytest.mark.parametrize("score", ["scaled_dot", "dot"])
@given(problem=problems())
@random_cases(20)
def test_every_backend_equals_a_loop_over_queries(
    backend: str, score: str, problem: tuple[Pattern, Keys | None, int, int, int]
) -> None:
    pattern, keys, b, q, k = problem
    tensors = draw(q * 10 + k, b, q, k)
    y = attend(*tensors, pattern, keys, score=score, backend=backend)
    scale = 8**-0.5 if score == "scaled_dot" else 1.0
    torch.testing.assert_close(y, by_loops(*tensors, whole_mask(pattern, keys, b, q, k), scale), atol=1e-12, rtol=1e-9)


@pytest.mark.parametrize("backend", ANY_PATTERN)
def test_causality_holds_on_absolute_positions(backend: str) -> None:
    q, k, v = draw(4, 2, 6, 6)
    whole = attend(q, k, v, Causal())
    torch.testing.assert_close(attend(q[:, 2:4], k, v, Causal(), q_start=2, backend=backend), whole[:, 2:4])
    rows = attend(torch.stack([q[0, 1:3], q[1, 4:6]]), k, v, Causal(), q_start=torch.tensor([1, 4]), backend=backend)
    torch.testing.assert_close(rows, torch.stack([whole[0, 1:3], whole[1, 4:6]]))


@pytest.mark.parametrize("backend", ANY_PATTERN)
def test_a_bias_is_added_after_scaling_and_gets_its_gradient(backend: str) -> None:
    q, k, v = draw(8, 2, 3, 4)
    bias = torch.randn(2, 3, 4, dtype=torch.float64).requires_grad_()
    may_read = torch.rand(3, 4) < 0.7
    y = attend(q, k, v, Explicit(may_read), bias=bias[None], backend=backend)
    loops = by_loops(q, k, v, may_read.expand(2, 2, 3, 4), 8**-0.5, bias)
    torch.testing.assert_close(y, loops)
    torch.testing.assert_close(
        torch.autograd.grad(y.square().sum(), bias), torch.autograd.grad(loops.square().sum(), bias)
    )


@pytest.mark.parametrize("backend", ANY_PATTERN)
@pytest.mark.parametrize("pattern", [Full(), Causal()])
def test_a_bias_of_nan_is_not_hidden_and_one_of_minus_infinity_takes_pairs_out(backend: str, pattern: Pattern) -> None:
    q, k, v = (torch.randn(1, 3, 2, 4) for _ in range(3))
    bias = torch.zeros(1, 1, 3, 3)
    bias[..., 1, :], bias[..., 2, 0] = -torch.inf, torch.nan
    y = attend(q, k, v, pattern, bias=bias, backend=backend)
    assert y[:, 0].isfinite().all()
    assert not y[:, 1].any()
    assert y[:, 2].isnan().all()


def test_the_worked_example_of_the_lectures() -> None:
    q = torch.tensor([[1.0, 2.0], [1.0, 1.0]])[None, :, None]
    k = v = torch.eye(2)[None, :, None]
    y, weights = attend(q, k, v, return_weights=True)
    expected = torch.tensor([[0.33, 0.67], [0.50, 0.50]])
    torch.testing.assert_close(weights[0, 0], expected, atol=5e-3, rtol=0)
    torch.testing.assert_close(y[0, :, 0], expected, atol=5e-3, rtol=0)


def test_dropout_drops_weights_and_keeps_the_mean() -> None:
    q, k, v = (torch.zeros(1, 2000, 1, 1), torch.zeros(1, 4, 1, 1), torch.ones(1, 4, 1, 1))
    torch.manual_seed(0)
    y = attend(q, k, v, dropout=0.5)
    assert y.std() > 0.1
    assert abs(float(y.mean()) - 1) < 0.05


def test_equals_pytorch_where_pytorch_can() -> None:
    q, k, v = draw(9, 2, 5, 5, h=4, g=4)
    theirs = scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
    torch.testing.assert_close(attend(q, k, v, Causal()), theirs.transpose(1, 2))


def test_a_plan_names_its_backend_cost_and_reason() -> None:
    chosen = plan(Causal(), queries=10, keys=20, heads=3, head_dim=4)
    assert isinstance(chosen, Plan)
    assert chosen.backend == "dense"
    assert chosen.flops == 2 * 10 * 20 * 3 * (4 + 4)
    assert chosen.why


def test_weights_are_planned_on_a_backend_that_keeps_them() -> None:
    assert plan(queries=2, keys=2, heads=1, head_dim=1, weights=True).backend == "reference"


def test_a_plan_is_pure_and_choose_cached() -> None:
    ask = {"queries": 777, "keys": 777, "heads": 3, "head_dim": 5}
    before = _choose_cached.cache_info()
    first, second = (plan(Window(3), **ask) for _ in range(2))  # type: ignore[arg-type]
    after = _choose_cached.cache_info()
    assert first is second
    assert (after.misses, after.hits) == (before.misses + 1, before.hits + 1)


def test_rows_that_start_at_different_positions_are_planned_once() -> None:
    q, k, v = draw(0, 2, 1, 7)
    counts = []
    for start in ([2, 5], [3, 6]):
        attend(q, k, v, Window(3, 0), q_start=torch.tensor(start))
        counts.append([kept.cache_info().misses for kept in (_choose_cached, _rows_pay_cached)])
    hits = _rows_pay_cached.cache_info().hits
    assert counts[0] == counts[1]
    assert hits >= 1


def test_a_plan_keeps_no_tensors_and_no_modules_alive() -> None:
    before = _choose_cached.cache_info().misses
    phi = torch.nn.Linear(8, 8)
    q, k, v = (x.float() for x in draw(0, 1, 3, 3))
    attend(q, k, v, Explicit(torch.ones(3, 3, dtype=torch.bool)))
    attend(q, k, v, norm=Kernel(phi), backend="reference")
    assert _choose_cached.cache_info().misses == before


@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(2), Fixed(4, 1), Strided(4)])
@pytest.mark.usefixtures("float64")
def test_training_without_dropout_is_evaluation(pattern: Pattern) -> None:
    torch.manual_seed(0)
    model = Attention(8, 2, pattern=pattern)
    tokens = Tokens(torch.randn(2, 300, 8))
    with torch.no_grad():
        torch.testing.assert_close(model.train()(tokens), model.eval()(tokens))


@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(2), Window(2) | Globals((0,)), Fixed(4, 1), Strided(4)])
def test_training_under_autocast_gives_about_the_same(pattern: Pattern) -> None:
    torch.manual_seed(0)
    model = Attention(32, 2, pattern=pattern)
    x = torch.randn(1, 600, 32)
    results = []
    for enabled in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            y = model(Tokens(x))
        results.append(torch.autograd.grad(y.float().square().sum(), model.qkv.weight)[0])
    torch.testing.assert_close(*results, atol=0.05 * float(results[0].abs().max()), rtol=0.1)


@pytest.mark.parametrize(
    ("backend", "pattern"), [("gathered", Blocks(4, tuple((a,) for a in range(500)))), ("strided", Strided(4))]
)
def test_dropout_inside_a_backend_keeps_the_mean(backend: str, pattern: Pattern) -> None:
    q, v = torch.zeros(1, 2000, 1, 1), torch.ones(1, 2000, 1, 1)
    torch.manual_seed(0)
    y = attend(q, q, v, pattern, dropout=0.5, backend=backend)
    assert y.std() > 0.1
    assert abs(float(y.mean()) - 1) < 0.05


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"queries": -1}, "queries=-1, .* none is negative"),
        ({"kv_heads": 3}, "kv_heads=3: .* heads are a multiple of kv_heads"),
        ({"bias": "foo"}, "bias='foo' is not one of dense"),
        ({"dropout": 2.0}, r"dropout=2.0 is not in \[0, 1\)"),
    ],
)
def test_a_plan_for_what_cannot_be_is_refused(change: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        plan(**({"queries": 4, "keys": 4, "heads": 4, "head_dim": 2} | change))  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", ANY_PATTERN)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_bias_of_another_precision_is_rounded_to_that_of_the_queries(backend: str, dtype: torch.dtype) -> None:
    q, k, v = (x.float() for x in draw(3, 2, 3, 4))
    bias = torch.randn(1, 2, 3, 4).bfloat16()
    y = attend(q, k, v, bias=bias.to(dtype), backend=backend)
    assert y.dtype == torch.float32
    torch.testing.assert_close(y, attend(q, k, v, bias=bias.float(), backend=backend))


@pytest.mark.usefixtures("float64")
def test_a_position_that_only_queries_or_only_keys_have_may_be_global() -> None:
    short, long = torch.randn(1, 2, 1, 4), torch.randn(1, 5, 1, 4)
    for q, k in ((short, long), (long, short)):
        y = attend(q, k, k, Globals((4,)))
        torch.testing.assert_close(y, attend(q, k, k, Globals((4,)), backend="reference"))
        assert y.any()
    empty = torch.randn(1, 0, 1, 4)
    assert attend(empty, empty, empty, Globals((0,))).shape == (1, 0, 1, 4)


@pytest.mark.usefixtures("float64")
def test_a_part_may_be_read_by_a_pattern_that_names_others() -> None:
    x = torch.randn(1, 4, 1, 4)
    pattern = Window(1) | Globals((9,))
    torch.testing.assert_close(attend(x, x, x, pattern, whole=False), attend(x, x, x, Window(1)))
