"""`attend` and `plan`: the formula, the choice of a backend, and what is refused; the laws are in test_laws.py."""

import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
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
    InputError,
    Kernel,
    Lengths,
    Plan,
    RelativeTable,
    Strided,
    Tokens,
    Valid,
    Window,
    attend,
    plan,
)
from zoo.core.bias import Dense
from zoo.core.checks import check, check_kinds, check_placed
from zoo.core.keys import Keys
from zoo.core.pattern import Pattern
from zoo.core.planner import _remembered

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
@settings(max_examples=20, deadline=None)
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


COMPILED = """
import torch
from zoo.core import *

there = torch.arange(16) % 5 > 0
ids = torch.arange(16)[None].expand(2, -1) // 6
some = torch.rand(16, 16, generator=torch.Generator().manual_seed(0)) < 0.5
table = RelativeTable(torch.randn(2, 9, generator=torch.Generator().manual_seed(0)), 4)
for backend, pattern, keys, options in (
    ("dense", Full(), None, {}),
    ("dense", Causal(), Valid(there.expand(2, -1)), {}),
    ("dense", Explicit(some), None, {}),
    ("dense", Causal(), None, {"bias": table}),
    ("explicit", Causal(), None, {}),
    ("reference", Window(2), None, {}),
    ("banded", Window(2), None, {}),
    ("banded", Window(2, 1, 2), Valid(there.expand(2, -1)), {}),
    ("banded", Window(2) | Globals((0,)), None, {}),
    ("banded", Chunk(4, 1), Segments(ids), {}),
    ("banded", Window(3), None, {"bias": table}),
    ("gathered", Fixed(4, 1), None, {}),
    ("strided", Strided(4), None, {}),
    ("linear", Causal(), None, {"norm": Kernel()}),
):
    results = []
    for compiled in (False, True):
        answer = lambda q, k, v: attend(q, k, v, pattern, keys, backend=backend, **options)
        if compiled:
            torch.compiler.reset()
            answer = torch.compile(answer, fullgraph=True, backend="aot_eager")
        torch.manual_seed(0)
        tensors = [torch.randn(2, 16, 2, 8, requires_grad=True) for _ in range(3)]
        try:
            y = answer(*tensors)
            results.append([y, *torch.autograd.grad(y.square().sum(), tensors)])
        except Exception as error:
            raise SystemExit(f"{backend} {pattern!r} {keys}: {error}")
    torch.testing.assert_close(*results)
"""


@pytest.mark.slow
def test_answers_and_gradients_are_the_same_compiled_without_a_graph_break() -> None:
    # in a process of its own, since torch.compile cannot follow the type checks of the tests
    done = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"score": "cosine"}, r"score='cosine' is not one of scaled_dot, dot"),
        ({"dropout": 1.0}, r"dropout=1.0 is not in \[0, 1\)"),
        ({"backend": "magic"}, r"backend='magic' is not one of auto, "),
        ({"backend": "dense", "return_weights": True}, r"backend='dense' cannot serve Full\(\): it keeps no weights"),
        ({"pattern": Explicit(torch.ones(2, 2, dtype=torch.bool))}, r"mask of \(2, 2\) .* is read at \(3, 3\)"),
        ({"pattern": Explicit(torch.ones(5, 3, 3, dtype=torch.bool))}, r"mask of 5 rows and 1 heads for a batch of 2"),
        ({"keys": Lengths(torch.tensor([1, 9]))}, r"0 … 3, the number of keys; got \[1, 9\]"),
        ({"q_start": torch.tensor(1)}, r"q_start of shape \(\) for a batch of 2: one number, or one a row"),
        ({"q_start": torch.tensor([1, 2, 3])}, r"q_start of shape \(3,\) for a batch of 2"),
        ({"bias": Dense(torch.zeros(1, 3, 1, 3))}, r"bias of shape \(1, 3, 1, 3\) for \(batch, .*\) = \(2, 2, 3, 3\)"),
        ({"bias": RelativeTable(torch.zeros(3, 5), 2)}, "RelativeTable of 3 heads for 2 heads of queries"),
        ({"keys": Lengths(torch.tensor([1]))}, r"Lengths of \(1,\) for a batch of 2"),
        ({"keys": Valid(torch.ones(2, 4, dtype=torch.bool))}, r"boolean mask of \(2, 3\); got \(2, 4\)"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_value(change: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        attend(*draw(0, 2, 3, 3), **change)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("shapes", "text"),
    [
        (((2, 3, 4, 8), (2, 3, 3, 8), (2, 3, 3, 8)), "4 query heads are not a multiple of 3 heads"),
        (((2, 3, 4, 8), (2, 3, 4, 7), (2, 3, 4, 8)), "do not fit each other"),
        (((2, 3, 4, 8), (1, 3, 4, 8), (1, 3, 4, 8)), "do not fit each other"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes: tuple[tuple[int, ...], ...], text: str) -> None:
    q, k, v = (torch.zeros(shape) for shape in shapes)
    with pytest.raises(InputError, match=text):
        check(q, k, v, "dot", 0.0)  # which `attend` asks first; its own annotations are checked in tests only


def test_a_plan_is_pure_and_remembered() -> None:
    ask = {"queries": 777, "keys": 777, "heads": 3, "head_dim": 5}
    before = _remembered.cache_info()
    first, second = (plan(Window(3), **ask) for _ in range(2))  # type: ignore[arg-type]
    after = _remembered.cache_info()
    assert first is second
    assert (after.misses, after.hits) == (before.misses + 1, before.hits + 1)


def test_a_plan_keeps_no_tensors_and_no_modules_alive() -> None:
    before = _remembered.cache_info().misses
    phi = torch.nn.Linear(8, 8)
    q, k, v = (x.float() for x in draw(0, 1, 3, 3))
    attend(q, k, v, Explicit(torch.ones(3, 3, dtype=torch.bool)))
    attend(q, k, v, norm=Kernel(phi), backend="reference")
    assert _remembered.cache_info().misses == before


@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(2), Fixed(4, 1), Strided(4)])
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
    ("given", "text"),
    [
        (("causal", None, None, "softmax"), "pattern='causal' is no Pattern"),
        ((Causal, None, None, "softmax"), "is no Pattern, such as Causal"),
        ((Causal(), torch.tensor([1, 2]), None, "softmax"), r"keys=tensor\(\[1, 2\]\) is no Keys"),
        (
            (Causal(), None, torch.ones(1, 1, 3, 3, dtype=torch.bool), "softmax"),
            "bias is of torch.bool: what may be read",
        ),
        ((Causal(), None, None, Kernel), "Kernel'> is not softmax, nor a Kernel or Hard"),
        ((Causal(), None, None, "sum"), "norm='sum' is not softmax"),
    ],
)
def test_what_is_of_another_kind_is_refused(given: tuple[object, ...], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        check_kinds(*given)  # which `attend` asks first, see above


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


def test_positions_of_other_keys_are_refused() -> None:
    q, k, _ = draw(0, 2, 3, 3)
    with pytest.raises(InputError, match=r"k_positions of shape \(2, 4\) for \(batch, keys\) = \(2, 3\)"):
        check_placed(q, k, None, torch.zeros(2, 4))
