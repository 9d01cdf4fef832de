"""Linear attention: equal to its quadratic form, at a cost linear in the length."""

import re
import subprocess
import sys
from unittest.mock import patch

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from zoo.core import Causal, ConfigError, Full, Kernel, Segments, Valid, Window, attend, plan
from zoo.core.backends import BACKENDS, linear_attention
from zoo.core.backends.problem import Problem
from zoo.core.patterns.padding import Keys
from zoo.core.patterns.pattern import Pattern
from zoo.testing.strategies import random_cases

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 3e-2}


def draw(
    seed: int, b: int, q: int, k: int, h: int = 4, g: int = 2, d: int = 6, e: int = 5
) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = [(b, q, h, d), (b, k, g, d), (b, k, g, e)]
    made = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    return made[0], made[1], made[2]


def doubled(x: Tensor) -> Tensor:
    """Features that are twice as many as channels."""
    return torch.cat([x.exp(), (-x).exp()], dim=-1)


def problem(pattern: Pattern) -> Problem:
    sizes = {"batch": 1, "queries": 4, "keys": 4, "heads": 4, "head_dim": 6, "value_dim": 5}
    return Problem(pattern, **sizes, dtype=torch.float64, device="cpu", grad=False, kv_heads=2, norm=Kernel())  # type: ignore[arg-type]


@st.composite
def problems(draw_from: st.DrawFn) -> tuple[tuple[Tensor, Tensor, Tensor], Pattern, Keys | None, int]:
    b, q, k = draw_from(st.integers(1, 2)), draw_from(st.integers(0, 11)), draw_from(st.integers(0, 11))
    seed = draw_from(st.integers(0, 1000))
    valid = torch.rand(b, k, generator=torch.Generator().manual_seed(seed)) < 0.6
    keys = draw_from(st.sampled_from([None, Valid(valid)]))
    return draw(seed, b, q, k), draw_from(st.sampled_from([Full(), Causal()])), keys, draw_from(st.integers(-3, 8))


@pytest.mark.parametrize("features", [Kernel().features, doubled])
@pytest.mark.parametrize("dtype", list(TOLERANCE))
@given(problem=problems())
@random_cases(20)
def test_values_and_gradients_equal_the_quadratic_form(
    dtype: torch.dtype, features: object, problem: tuple[tuple[Tensor, Tensor, Tensor], Pattern, Keys | None, int]
) -> None:
    tensors, pattern, keys, start = problem
    answers = []
    for precision, backend in ((torch.float64, "reference"), (dtype, "linear")):
        q, k, v = (x.to(dtype).to(precision).requires_grad_() for x in tensors)
        with patch.object(linear_attention, "CHUNK", 4):
            y = attend(q, k, v, pattern, keys, norm=Kernel(features), q_start=start, backend=backend)  # type: ignore[arg-type]
        loss = (y.double() * torch.linspace(-1, 1, y.numel(), dtype=torch.float64).view_as(y)).sum()
        answers.append([y, *torch.autograd.grad(loss, (q, k, v))])
    for wanted, got in zip(*answers, strict=True):
        assert got.dtype == dtype
        torch.testing.assert_close(got.double(), wanted, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("length", [1, 63, 64, 65, 130])
def test_lengths_around_a_chunk_equal_the_quadratic_form(length: int) -> None:
    q, k, v = draw(length, 1, length, length)
    wanted = attend(q, k, v, Causal(), norm=Kernel(), backend="reference")
    torch.testing.assert_close(attend(q, k, v, Causal(), norm=Kernel(), backend="linear"), wanted, atol=1e-12, rtol=0)


@pytest.mark.parametrize("pattern", [Full(), Causal()])
@pytest.mark.parametrize(
    ("q", "k", "start"), [(5, 5, 0), (130, 130, 0), (65, 90, 5), (7, 100, 50), (3, 9, -5), (0, 3, 0)]
)
@pytest.mark.parametrize("features", [Kernel().features, doubled])
def test_planned_operations_are_those_counted(pattern: Pattern, q: int, k: int, start: int, features: object) -> None:
    norm = Kernel(features)  # type: ignore[arg-type]
    tensors = draw(7, 2, q, k)
    with FlopCounterMode(display=False) as counter:
        attend(*tensors, pattern, norm=norm, q_start=start, backend="linear")
    sizes = {"queries": q, "keys": k, "heads": 4, "kv_heads": 2, "head_dim": 6, "value_dim": 5, "batch": 2}
    planned = plan(pattern, **sizes, start=start, norm=norm, backend="linear", dtype=torch.float64)  # type: ignore[arg-type]
    assert counter.get_total_flops() == planned.flops


@pytest.mark.parametrize("pattern", [Full(), Causal()])
def test_operations_and_memory_double_with_the_length(pattern: Pattern) -> None:
    spent = []
    for n in (512, 1024):
        q, k, v = (x.requires_grad_() for x in draw(8, 1, n, n))
        kept: dict[int, int] = {}

        def keep(x: Tensor, kept: dict[int, int] = kept) -> Tensor:
            kept[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
            return x

        with FlopCounterMode(display=False) as counter, torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
            attend(q, k, v, pattern, norm=Kernel(), backend="linear").sum().backward()
        planned = plan(pattern, queries=n, keys=n, heads=4, head_dim=6, norm=Kernel())
        spent.append((counter.get_total_flops(), sum(kept.values()), planned.flops, planned.bytes))
    assert all(twice <= 2.1 * once for once, twice in zip(*spent, strict=True))


def test_what_is_planned_to_be_kept_is_near_what_is_kept() -> None:
    q, k, v = (x.requires_grad_() for x in draw(8, 1, 1024, 1024, d=32, e=32))
    kept: dict[int, int] = {}

    def keep(x: Tensor) -> Tensor:
        kept[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        attend(q, k, v, Causal(), norm=Kernel(), backend="linear")
    sizes = {"queries": 1024, "keys": 1024, "heads": 4, "kv_heads": 2, "head_dim": 32}
    planned = plan(Causal(), **sizes, norm=Kernel(), backend="linear", dtype=torch.float64, grad=True)  # type: ignore[arg-type]
    assert 0.6 < planned.bytes / sum(kept.values()) < 1.7


def test_long_attention_with_a_kernel_is_planned_as_sums() -> None:
    chosen = plan(Causal(), queries=4000, keys=4000, heads=4, head_dim=64, norm=Kernel())
    assert chosen.backend == "linear"
    assert "sums" in chosen.why


@pytest.mark.parametrize("pattern", [Full(), Causal()])
def test_nan_in_the_padding_reaches_neither_answer_nor_gradient(pattern: Pattern) -> None:
    q, k, v = draw(9, 1, 4, 6)
    k[0, 4:], v[0, 4:] = torch.nan, torch.inf
    for x in (q, k, v):
        x.requires_grad_()
    y = attend(q, k, v, pattern, Valid(torch.arange(6)[None] < 4), norm=Kernel(), backend="linear")
    torch.testing.assert_close(y, attend(q, k[:, :4], v[:, :4], pattern, norm=Kernel(), backend="reference"))
    y.sum().backward()
    assert all(x.grad is not None and x.grad.isfinite().all() for x in (q, k, v))


@pytest.mark.parametrize("pattern", [Full(), Causal()])
def test_a_query_with_nothing_to_read_gives_zero_with_gradient_zero(pattern: Pattern) -> None:
    q, k, v = (x.requires_grad_() for x in draw(10, 2, 3, 3))
    valid = torch.tensor([[False, False, False], [True, True, True]])
    y = attend(q, k, v, pattern, Valid(valid), norm=Kernel(), backend="linear")
    y.square().sum().backward()
    assert not y[0].any()
    assert q.grad is not None
    assert not q.grad[0].any()
    assert q.grad[1].any()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({}, r"backend='linear' cannot serve Full\(\): it knows only a Kernel, not softmax"),
        ({"norm": Kernel(), "pattern": Window(1)}, "not Window"),
        ({"norm": Kernel(), "keys": Segments(torch.zeros(1, 4, dtype=torch.long))}, "at the end of a segment"),
        ({"norm": Kernel(), "return_weights": True}, "no weights to give or to drop"),
        ({"norm": Kernel(), "dropout": 0.1}, "no weights to give or to drop"),
        ({"norm": Kernel(), "bias": torch.zeros(1, 1, 4, 4, dtype=torch.float64)}, "no scores, so no bias"),
    ],
)
def test_what_sums_cannot_do_is_refused_with_its_reason(change: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        attend(*draw(11, 1, 4, 4), **change, backend="linear")  # type: ignore[call-overload]


@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(1)])
@pytest.mark.parametrize("backend", list(BACKENDS))
def test_every_backend_serves_a_kernel_by_its_formula_or_refuses_it_by_name(backend: str, pattern: Pattern) -> None:
    q, k, v = draw(12, 1, 4, 4)
    reason = BACKENDS[backend].refuses(problem(pattern))
    if reason is None:
        weights = Kernel().features(q).transpose(1, 2) @ Kernel().features(k).permute(0, 2, 3, 1).repeat_interleave(
            2, 1
        )
        weights = weights.masked_fill(~pattern.mask(torch.arange(4)[None], torch.arange(4)), 0)
        wanted = weights / weights.sum(-1, keepdim=True) @ v.transpose(1, 2).repeat_interleave(2, 1)
        y = attend(q, k, v, pattern, norm=Kernel(), backend=backend)
        torch.testing.assert_close(y, wanted.transpose(1, 2), atol=1e-12, rtol=0)
    else:
        assert backend != "reference"
        with pytest.raises(ConfigError, match=rf"backend='{backend}' cannot serve {re.escape(repr(pattern))}: "):
            attend(q, k, v, pattern, norm=Kernel(), backend=backend)


def test_the_kernel_backends_are_those_we_know() -> None:
    assert {name for name, b in BACKENDS.items() if b.refuses(problem(Causal())) is None} >= {"reference", "linear"}
    assert "Kernel(elu_features)" in str(BACKENDS["dense"].refuses(problem(Causal())))


COMPILED = """
import torch
from zoo.core import Causal, Full, Kernel, Valid, attend

there = torch.tensor([[True, False, True, True]] * 2)
for pattern in (Full(), Causal()):
    for keys in (None, Valid(there)):
        results = []
        for compiled in (False, True):
            answer = lambda q, k, v: attend(q, k, v, pattern, keys, norm=Kernel(), backend="linear")
            if compiled:
                answer = torch.compile(answer, fullgraph=True, backend="aot_eager")
            torch.manual_seed(0)
            tensors = [torch.randn(2, 4, 2, 8, requires_grad=True) for _ in range(3)]
            y = answer(*tensors)
            results.append([y, *torch.autograd.grad(y.square().sum(), tensors)])
        torch.testing.assert_close(*results)
"""


@pytest.mark.slow
def test_answers_and_gradients_are_the_same_compiled_without_a_graph_break() -> None:
    # in a process of its own, since torch.compile cannot follow the type checks of the tests
    done = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
