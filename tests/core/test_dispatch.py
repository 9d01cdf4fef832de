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
    ALiBi,
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
    Neighbourhood,
    Plan,
    RelativeTable,
    Shaw,
    Strided,
    Tokens,
    TransformerXL,
    Valid,
    Window,
    attend,
    plan,
)
from zoo.core.bias import Bias, Dense, refuse_shape
from zoo.core.checks import check, check_kinds, check_placed, check_start
from zoo.core.keys import Keys
from zoo.core.pattern import Pattern
from zoo.core.planner import _apart_remembered, _remembered

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


LENGTHS = """
import torch
import zoo
from zoo.core import Causal, Window, attend
from zoo.core.bias import ALiBi

for options in ({}, {"pattern": Causal()}, {"pattern": Window(3)}, {"bias": ALiBi(torch.rand(2))}):
    torch.compiler.reset()
    answer = torch.compile(lambda q: attend(q, q, q, **options), fullgraph=True, backend="aot_eager")
    for n in (16, 20, 33):
        q = torch.randn(2, n, 2, 8, requires_grad=True)
        torch.testing.assert_close(answer(q), attend(q, q, q, **options))
torch.compiler.reset()
model = zoo.create("bert-tiny").eval()
compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
for n in (6, 11, 17):
    ids = torch.randint(5, 100, (2, n))
    torch.testing.assert_close(compiled(ids), model(ids))
"""


@pytest.mark.slow
def test_what_is_compiled_once_serves_other_lengths() -> None:
    done = subprocess.run([sys.executable, "-c", LENGTHS], capture_output=True, text=True, check=False)
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
        (((2, 3, 4, 0), (2, 3, 4, 0), (2, 3, 4, 8)), "heads of no channels"),
        (((2, 3, 4, 8), (2, 3, 3, 8), (2, 3, 3, 8)), "4 query heads are not a multiple of 3 heads"),
        (((2, 3, 4, 8), (2, 3, 4, 7), (2, 3, 4, 8)), "do not fit each other"),
        (((2, 3, 4, 8), (1, 3, 4, 8), (1, 3, 4, 8)), "do not fit each other"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes: tuple[tuple[int, ...], ...], text: str) -> None:
    q, k, v = (torch.zeros(shape) for shape in shapes)
    with pytest.raises(InputError, match=text):
        check(q, k, v, "dot", 0.0)  # which `attend` asks first; its own annotations are checked in tests only


def test_lengths_that_are_no_tensor_are_refused_with_what_to_write() -> None:
    keys = object.__new__(Lengths)  # whose annotation is checked in tests only
    object.__setattr__(keys, "t", [3, 7])
    with pytest.raises(InputError, match=r"t=\[3, 7\] of Lengths is no tensor: torch.tensor\(\[3, 7\]\) is"):
        attend(*draw(0, 2, 3, 3), keys=keys)


def test_a_bias_of_numbers_that_are_no_tensor_is_refused() -> None:
    with pytest.raises(InputError, match=r"slopes of ALiBi is 3: it is a tensor \(heads,\)"):
        refuse_shape(ALiBi(torch.ones(1)), "slopes", 3, "(heads,)")


def test_a_bias_without_all_axes_is_refused_for_that() -> None:
    bias = object.__new__(Dense)
    object.__setattr__(bias, "added", torch.zeros(4, 3, 3))
    with pytest.raises(InputError, match=r"bias of shape \(4, 3, 3\) is not \(batch, heads, queries, keys\)"):
        check_placed(*draw(0, 2, 3, 3), bias, None)


def test_a_plan_is_pure_and_remembered() -> None:
    ask = {"queries": 777, "keys": 777, "heads": 3, "head_dim": 5}
    before = _remembered.cache_info()
    first, second = (plan(Window(3), **ask) for _ in range(2))  # type: ignore[arg-type]
    after = _remembered.cache_info()
    assert first is second
    assert (after.misses, after.hits) == (before.misses + 1, before.hits + 1)


def test_rows_that_start_at_different_positions_are_planned_once() -> None:
    q, k, v = draw(0, 2, 1, 7)
    counts = []
    for start in ([2, 5], [3, 6]):
        attend(q, k, v, Window(3, 0), q_start=torch.tensor(start))
        counts.append([kept.cache_info().misses for kept in (_remembered, _apart_remembered)])
    hits = _apart_remembered.cache_info().hits
    assert counts[0] == counts[1]
    assert hits >= 1


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


@pytest.mark.parametrize(
    ("bias", "positions", "text"),
    [
        (None, torch.zeros(2, 4, dtype=torch.long), r"k_positions of shape \(2, 4\) .* for \(batch, keys\) = \(2, 3\)"),
        (None, torch.zeros(2, 3), r"k_positions of shape \(2, 3\) and torch.float32 .* whole numbers"),
        (ALiBi(torch.ones(3)), None, "ALiBi of 3 heads for 2 heads of queries"),
        (Shaw(torch.ones(3, 5, 8), None, 2), None, "Shaw of 3 heads for 2 heads of queries"),
        (Shaw(torch.ones(1, 5, 7), None, 2), None, "Shaw holds vectors of 7 channels for heads of 8"),
        (Shaw(torch.ones(1, 5, 8), torch.ones(1, 5, 8), 2), None, "Shaw holds vectors of 8 channels for heads of 6"),
        (
            TransformerXL(torch.ones(2, 8), torch.ones(2, 8), torch.ones(2, 5, 8), -2),
            None,
            None,
        ),
        (
            TransformerXL(torch.ones(2, 4), torch.ones(2, 4), torch.ones(2, 5, 4), -2),
            None,
            "TransformerXL holds vectors of 4 channels for heads of 8",
        ),
    ],
)
def test_a_bias_and_positions_that_do_not_fit_are_refused(
    bias: Bias | None, positions: Tensor | None, text: str | None
) -> None:
    tensors = draw(0, 2, 3, 3)
    if text is None:
        check_placed(*tensors, bias, positions)
        return
    with pytest.raises(InputError, match=text):
        check_placed(*tensors, bias, positions)


@pytest.mark.parametrize(
    ("start", "text"),
    [
        (1.5, "q_start=1.5 is no whole number, nor a tensor of one for each row"),
        (True, "q_start=True is no whole number"),
        (torch.tensor([0.0, 1.0]), "q_start is of torch.float32: positions are whole numbers"),
        (torch.tensor([True, False]), "q_start is of torch.bool"),
    ],
)
def test_a_start_that_is_no_position_is_refused(start: object, text: str) -> None:
    with pytest.raises(InputError, match=text):
        check_start(start, 2)


@pytest.mark.parametrize("backend", ANY_PATTERN)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_bias_of_another_precision_is_rounded_to_that_of_the_queries(backend: str, dtype: torch.dtype) -> None:
    q, k, v = (x.float() for x in draw(3, 2, 3, 4))
    bias = torch.randn(1, 2, 3, 4).bfloat16()
    y = attend(q, k, v, bias=bias.to(dtype), backend=backend)
    assert y.dtype == torch.float32
    torch.testing.assert_close(y, attend(q, k, v, bias=bias.float(), backend=backend))


@pytest.mark.parametrize(
    ("pattern", "length", "text"),
    [
        (Globals((0, 4)), 4, "globals:0,4 names position 4, and the 4 there are end at 3"),
        (Window(1) | Globals((9,)), 4, "globals:9 names position 9, and the 4"),
        (Blocks(2, ((0,), (1,))), 5, r"has 2 blocks of 2, and 5 positions make 3"),
        (Neighbourhood(2, 2, 1), 5, "is a grid of 2 x 2: 4 positions; got 5 queries from 0 on and 5 keys"),
    ],
)
def test_a_pattern_for_another_number_of_positions_is_refused(pattern: Pattern, length: int, text: str) -> None:
    x = torch.randn(1, length, 1, 4)
    with pytest.raises(InputError, match=text):
        attend(x, x, x, pattern)


def test_a_position_that_only_queries_or_only_keys_have_may_be_global() -> None:
    short, long = torch.randn(1, 2, 1, 4), torch.randn(1, 5, 1, 4)
    for q, k in ((short, long), (long, short)):
        y = attend(q, k, k, Globals((4,)))
        torch.testing.assert_close(y, attend(q, k, k, Globals((4,)), backend="reference"))
        assert y.any()
    empty = torch.randn(1, 0, 1, 4)
    assert attend(empty, empty, empty, Globals((0,))).shape == (1, 0, 1, 4)


def test_a_part_may_be_read_by_a_pattern_that_names_others() -> None:
    x = torch.randn(1, 4, 1, 4)
    pattern = Window(1) | Globals((9,))
    torch.testing.assert_close(attend(x, x, x, pattern, whole=False), attend(x, x, x, Window(1)))


TOLD = """
import torch
from torch import nn
from zoo.core import *

x = torch.randn(2, 3, 8)
q = torch.randn(2, 3, 2, 4)
state = Decoder(8, 1, 2, 8).state(2)
for ask, text in (
    (lambda: Encoder(8, 1, 2, 8)(x), "a tensor of (2, 3, 8) where Tokens belong: wrap vectors (batch,"),
    (lambda: list(Encoder(8, 1, 2, 8).states(x)), "a tensor of (2, 3, 8) where Tokens belong"),
    (lambda: Decoder(8, 1, 2, 8)(x), "a tensor of (2, 3, 8) where Tokens belong"),
    (lambda: Decoder(8, 1, 2, 8, cross=Attention)(Tokens(x), x), "a tensor of (2, 3, 8) where Tokens belong"),
    (lambda: Decoder(8, 1, 2, 8)([1]), "a list where Tokens belong"),
    (lambda: Attention(8, 2)(x), "a tensor of (2, 3, 8) where Tokens belong"),
    (lambda: as_attention(x), "a Tensor is no nn.Conv2d"),
    (lambda: as_attention(nn.Linear(2, 3)), "Linear(in_features=2, out_features=3, bias=True) is no nn.Conv2d"),
    (lambda: as_attention(nn.Conv2d(8, 8, 3))(x), "a tensor of (2, 3, 8) where Tokens belong"),
    (lambda: state.reorder(torch.tensor([0, 2])), "rows [0, 2] are taken of a state of 2: at least one, each in 0 … 1"),
    (lambda: attend(q, q, q, q_start=1.5), "q_start=1.5 is no whole number"),
    (lambda: attend(q, q, q, bias=torch.ones(1, 1, 3, 3, dtype=torch.long)), "bias is of torch.int64: it is added"),
    (lambda: attend(q, q, q, bias=torch.ones(3, 3)), "bias of shape (3, 3) is not (batch, heads, queries, keys)"),
    (lambda: attend(q, q, q, bias=RelativeTable(torch.ones(3), 1)), "table of RelativeTable is of shape (3,): it is"),
    (lambda: attend(q, q, q, bias=RelativeTable(torch.ones(2, 0), 1)), "table of RelativeTable is of shape (2, 0)"),
    (lambda: Shaw(torch.ones(3, 4), None, 1), "a_k of Shaw is of shape (3, 4): it is (heads or 1, offsets, channels)"),
):
    try:
        ask()
    except (InputError, ConfigError) as error:
        assert text in str(error), f"{text!r} is not in {str(error)!r}"
    else:
        raise AssertionError(text)
"""


@pytest.mark.slow
def test_what_is_no_input_is_refused_in_words_also_without_type_checks() -> None:
    # in a process of its own, since the type checks of the tests would refuse it first
    done = subprocess.run([sys.executable, "-c", TOLD], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
