"""The dense backend: plain products and the fused kernel are the same function."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from zoo.core import Causal, Lengths, attend
from zoo.core.backends import dense
from zoo.core.backends.dense import _Products, prefers_products
from zoo.core.backends.problem import Call
from zoo.core.patterns.padding import Keys
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.scoring.bias import Dense
from zoo.core.scoring.relative_bias import ALiBi, Relative, RelativeTable, TransformerXL


def call(dtype: torch.dtype = torch.bfloat16) -> Call:
    q, k, v = (torch.randn(2, 3, 5, 4, dtype=dtype, requires_grad=True) for _ in range(3))
    return Call(q, k, v, Full(), 0, None, None, 0.5, 0.0)


def test_products_have_the_gradients_of_their_formula() -> None:
    q, k, v, added = (torch.randn(2, 4, n, dtype=torch.float64, requires_grad=True) for n in (3, 3, 3, 4))
    for bias in (None, added):
        tensors = (q, k, v) if bias is None else (q, k, v, bias)
        assert torch.autograd.gradcheck(lambda *x: _Products.apply(*x, *(None,) * (4 - len(x)), 0.7), tensors)
        scores = 0.7 * q @ k.mT + (0 if bias is None else bias)
        torch.testing.assert_close(_Products.apply(q, k, v, bias, 0.7), scores.softmax(-1) @ v)


def test_products_in_bfloat16_equal_float64() -> None:
    torch.manual_seed(0)
    tensors = [torch.randn(2, 6, 3, 8).bfloat16().requires_grad_() for _ in range(3)]
    exact = [x.detach().double().requires_grad_() for x in tensors]
    for x, y in ((tensors, attend(*tensors)), (exact, attend(*exact, backend="reference"))):  # type: ignore[call-overload]
        y.square().sum().backward()
        assert all(each.grad is not None for each in x)
    for got, wanted in zip(tensors, exact, strict=True):
        assert got.grad is not None
        torch.testing.assert_close(got.grad.double(), wanted.grad, atol=5e-2, rtol=5e-2)


def test_products_are_for_training_in_bfloat16_or_with_a_relative_bias() -> None:
    bias = ALiBi(torch.rand(3))
    assert prefers_products(call())
    assert not prefers_products(call(torch.float32))
    assert prefers_products(replace(call(torch.float32), bias=bias))
    with torch.no_grad():
        assert not prefers_products(call())
        assert not prefers_products(replace(call(torch.float32), bias=bias))


@pytest.mark.parametrize("vectors", [True, False])
def test_products_compute_answers_in_bfloat16_where_vectors_are_fast(
    monkeypatch: pytest.MonkeyPatch, vectors: bool
) -> None:
    monkeypatch.setattr(dense, "fast_vectors", lambda: vectors)
    monkeypatch.setattr(dense, "FEWEST", 2 * 3 * 5 * 5)
    monkeypatch.setattr(dense, "NARROWEST", 4)
    with torch.no_grad():
        assert prefers_products(call()) is vectors
        assert not prefers_products(call(torch.float32))
        assert not prefers_products(replace(call(), bias=ALiBi(torch.rand(3))))
        for bound, value in (("FEWEST", 2 * 3 * 5 * 5 + 1), ("NARROWEST", 5), ("LONGEST_PRODUCT", 4)):
            with monkeypatch.context() as other:
                other.setattr(dense, bound, value)
                assert not prefers_products(call())


def test_answers_by_products_in_bfloat16_are_those_of_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "fast_vectors", lambda: True)
    monkeypatch.setattr(dense, "fast_bfloat16", lambda: True)
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 96, 4, 32).bfloat16() for _ in range(3))
    used: list[int] = []
    by_heads = dense.by_heads

    def counted(q: torch.Tensor, *rest: Any) -> torch.Tensor:
        used.append(len(q))
        return by_heads(q, *rest)

    monkeypatch.setattr(dense, "by_heads", counted)
    found = attend(q, k, v, backend="dense")
    assert used == [8]
    wanted = attend(q.double(), k.double(), v.double(), backend="reference")
    torch.testing.assert_close(found.double(), wanted, rtol=2e-2, atol=2e-2)


def test_answers_by_products_need_not_all_scores_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = (torch.randn(5, n, 4, dtype=torch.float64) for n in (3, 6, 6))
    monkeypatch.setattr(dense, "SCORES", 2 * 3 * 6)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    seen: list[int] = []
    softmax = torch.softmax

    def counted(x: torch.Tensor, dim: int, out: torch.Tensor) -> torch.Tensor:
        seen.append(x.numel())
        return softmax(x, dim, out=out)

    monkeypatch.setattr(torch, "softmax", counted)
    found = dense.by_heads(q, k, v, 0.7)
    assert seen == [36, 36, 18]
    torch.testing.assert_close(found, softmax(0.7 * q @ k.mT, -1) @ v)


@pytest.mark.parametrize(
    "change",
    [
        {"pattern": Causal()},
        {"valid": torch.ones(2, 5, dtype=torch.bool)},
        {"bias": Dense(torch.zeros(1, 1, 5, 5))},
        {"dropout": 0.1},
        {"k": torch.zeros(2, 1, 5, 4), "v": torch.zeros(2, 1, 5, 4)},
    ],
)
def test_products_leave_everything_else_to_the_kernel(change: dict[str, object]) -> None:
    assert not prefers_products(replace(call(), **change))  # type: ignore[arg-type]


@pytest.mark.parametrize("fast", [True, False])
def test_training_and_evaluation_agree_in_bfloat16(monkeypatch: pytest.MonkeyPatch, fast: bool) -> None:
    monkeypatch.setattr(dense, "fast_bfloat16", lambda: fast)
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 16, 2, 32).bfloat16().requires_grad_() for _ in range(3))
    with torch.no_grad():
        evaluated = attend(3 * q, k, v)
    torch.testing.assert_close(attend(3 * q, k, v), evaluated, atol=5e-2 if fast else 1e-2, rtol=5e-2 if fast else 1e-2)


def relative(name: str) -> Relative:
    if name == "table":
        return RelativeTable(torch.randn(2, 9, dtype=torch.float64), 4)
    u, v, r = (torch.randn(*shape, dtype=torch.float64) for shape in ((2, 4), (2, 4), (2, 24, 4)))
    return TransformerXL(u, v, r, -12)


@pytest.mark.parametrize("start", [0, 2])
@pytest.mark.parametrize("keys", [None, Lengths(torch.tensor([9, 4, 0]))], ids=["all", "lengths"])
@pytest.mark.parametrize("pattern", [Full(), Causal()])
@pytest.mark.parametrize("name", ["table", "transformer-xl"])
def test_a_bias_by_offsets_is_made_for_some_queries_at_a_time(
    name: str, pattern: Pattern, keys: Keys | None, start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "QUERIES", 3)
    seen: list[int] = []
    laid = Relative.on_line

    def counted(self: Relative, q: torch.Tensor, *rest: object) -> torch.Tensor:
        seen.append(q.shape[2])
        return laid(self, q, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Relative, "on_line", counted)
    torch.manual_seed(0)
    q, k, v = (torch.randn(3, n, 2, 4, dtype=torch.float64) for n in (7, 9, 9))
    bias = relative(name)
    found, expected = (
        attend(q, k, v, pattern, keys=keys, bias=bias, q_start=start, backend=backend)
        for backend in ("dense", "reference")
    )
    torch.testing.assert_close(found, expected)
    assert seen == [4, 3, 7]  # two parts, as equal as can be; the reference takes all


def test_few_queries_and_training_make_a_bias_by_offsets_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "QUERIES", 3)
    asked = replace(call(torch.float32), bias=ALiBi(torch.rand(3)))
    assert not dense.has_band(asked)
    with torch.no_grad():
        assert not dense.has_band(asked)
        monkeypatch.setattr(dense, "QUERIES", 2)
        assert dense.has_band(asked)
