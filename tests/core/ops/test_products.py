"""The rule by which products are computed, and that it changes no answer."""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import linear

from zoo.core import Encoder, Tokens
from zoo.core.errors import ConfigError
from zoo.core.ops import bfloat16, columns, onednn, products
from zoo.core.ops.activations import gelu, gelu_tanh
from zoo.core.ops.columns import by_columns
from zoo.core.ops.products import RULES, Rule, chosen, multiply, of_processor
from zoo.testing.checks import check_compile, check_export


@pytest.fixture(params=RULES)
def rule(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(products, "chosen", lambda: request.param)
    name: str = request.param
    return name


@pytest.fixture
def _anything(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a rule have its way with small products too."""
    monkeypatch.setattr(columns, "LARGE", 1)
    monkeypatch.setitem(RULES, rule, replace(RULES[rule], rows=1, work=0.0))


@pytest.mark.usefixtures("_anything")
@pytest.mark.parametrize("rows", [1, 2, 16, 40])
@pytest.mark.parametrize(("out", "wide"), [(5, 7), (7, 5)])
@pytest.mark.parametrize("activation", [None, gelu, torch.tanh])
def test_every_rule_gives_the_same_values_and_gradients(
    rows: int, out: int, wide: int, activation: onednn.Activation | None
) -> None:
    parts = torch.randn(rows, wide), torch.randn(out, wide), torch.randn(out)
    exact = [part.double().requires_grad_() for part in parts]
    y = linear(*exact)
    wanted = activation(y) if activation else y
    with torch.no_grad():
        torch.testing.assert_close(multiply(*parts, activation), wanted.float(), rtol=1e-5, atol=1e-5)
    leaves = [part.requires_grad_() for part in parts]
    found = torch.autograd.grad(multiply(*parts, activation).square().sum(), leaves)
    grads = torch.autograd.grad(wanted.square().sum(), exact)
    torch.testing.assert_close(found, [g.float() for g in grads], rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(not onednn.works(), reason="PyTorch has no oneDNN here")
@pytest.mark.parametrize("activation", [None, gelu, gelu_tanh])
def test_every_rule_is_right_where_onednn_multiplies_by_it(
    rule: str, activation: onednn.Activation | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[bool] = []
    asked = onednn.serves

    def note(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
        served.append(asked(x, weight, bias))
        return served[-1]

    monkeypatch.setattr(onednn, "serves", note)
    parts = torch.randn(16, 2048), torch.randn(2048, 2048) / 2048**0.5, torch.randn(2048)
    exact = [part.double().requires_grad_() for part in parts]
    y = linear(*exact)
    wanted = activation(y) if activation else y
    with torch.no_grad():
        found = multiply(*parts, activation)
        torch.testing.assert_close(found, wanted.float(), rtol=1e-5, atol=1e-5)
        assert torch.equal(multiply(*parts, activation), found)
    leaves = [part.requires_grad_() for part in parts]
    grads = torch.autograd.grad(multiply(*parts, activation).square().sum(), leaves)
    wanted_grads = torch.autograd.grad(wanted.square().sum(), exact)
    torch.testing.assert_close(grads, [g.float() for g in wanted_grads], rtol=1e-4, atol=1e-4)
    assert bool(served) == (RULES[rule].plain or activation in RULES[rule].fused)
    assert all(served)


@pytest.mark.usefixtures("_anything")
@pytest.mark.skipif(not onednn.works(), reason="PyTorch has no oneDNN here")
@pytest.mark.parametrize("rule", ["onednn", "amd-avx512", "amd-zen4", "intel-avx512"], indirect=True)
def test_a_model_has_the_same_answers_and_gradients_by_every_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = Encoder(64, 2, 4, 256), torch.randn(4, 64, 64)

    def answered() -> list[Tensor]:
        model.zero_grad()
        y = model(Tokens(x)).x
        y.square().sum().backward()
        with torch.no_grad():
            alone = model(Tokens(x)).x
        return [y.detach(), alone, *(part.grad.clone() for part in model.parameters() if part.grad is not None)]

    found = answered()
    monkeypatch.setattr(products, "chosen", lambda: "mkl")
    wanted = answered()
    for part in (slice(2), slice(2, None)):  # a gradient that cancels, such as that of keys' biases, is all rounding
        largest = max(float(each.abs().max()) for each in wanted[part])
        for one, other in zip(found[part], wanted[part], strict=True):
            assert (one - other).abs().max() <= 1e-5 * largest


class Vectors(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder(dim=8, depth=1, num_heads=2, mlp_dim=16)

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(Tokens(x)).x


def test_a_model_is_exported_by_every_rule(rule: str) -> None:
    check_export(Vectors().eval(), (torch.randn(2, 5, 8),))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in ("mkl", "onednn") else pytest.mark.slow) for name in RULES]
)
def test_a_model_is_compiled_by_every_rule(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "chosen", lambda: name)
    check_compile(Vectors().eval(), (torch.randn(2, 5, 8),))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_every_rule_serves_every_precision(rule: str, dtype: torch.dtype) -> None:
    parts = [part.to(dtype) for part in (torch.randn(20, 7), torch.randn(5, 7), torch.randn(5))]
    found = multiply(parts[0], parts[1], parts[2], gelu)
    assert found.dtype == dtype
    wanted = gelu(linear(*(part.double() for part in parts)))
    tolerance = 1e-12 if dtype is torch.float64 else 0.1
    torch.testing.assert_close(found.double(), wanted, rtol=tolerance, atol=tolerance)


def test_the_same_product_has_the_same_bits_each_time(rule: str) -> None:
    x, weight = torch.randn(33, 64), torch.randn(48, 64)
    with torch.no_grad():
        assert torch.equal(multiply(x, weight, None, gelu), multiply(x.clone(), weight.clone(), None, gelu))


@pytest.mark.skipif(not onednn.works(), reason="PyTorch has no oneDNN here")
def test_onednn_multiplies_from_enough_rows_and_work_on(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[str] = []
    plain, followed = onednn.multiply, onednn.differentiable

    def without(x: Tensor, weight: Tensor, bias: Tensor | None, activation: onednn.Activation | None = None) -> Tensor:
        used.append("fused" if activation else "plain")
        return plain(x, weight, bias, activation)

    def with_gradients(x: Tensor, weight: Tensor, bias: Tensor | None, of_weight: bool) -> Tensor:
        used.append("differentiable")
        return followed(x, weight, bias, of_weight)

    monkeypatch.setitem(products.RULES, "here", Rule(rows=2, work=70.0, plain=True, fused=frozenset({gelu})))
    monkeypatch.setattr(products, "chosen", lambda: "here")
    monkeypatch.setattr(onednn, "multiply", without)
    monkeypatch.setattr(onednn, "differentiable", with_gradients)
    for rows, wide in ((1, 14), (2, 3), (2, 7)):  # too few rows, too little to multiply, enough
        x, weight = torch.randn(rows, wide), torch.randn(5, wide, requires_grad=True)
        multiply(x, weight, None, gelu)
        with torch.no_grad():
            multiply(x, weight, None, torch.tanh)
            multiply(x, weight, None, gelu)
    assert used == ["differentiable", "plain", "plain", "fused"]  # the first multiplies as the second


@pytest.mark.skipif(not onednn.works(), reason="PyTorch has no oneDNN here")
@pytest.mark.parametrize(("tall", "expected"), [(True, 3), (False, 2)])
def test_a_rule_may_leave_gradients_of_tall_matrices_to_pytorch(
    monkeypatch: pytest.MonkeyPatch, tall: bool, expected: int
) -> None:
    used: list[Tensor] = []
    plain = onednn.multiply

    def counted(x: Tensor, *rest: Any) -> Tensor:
        used.append(x)
        return plain(x, *rest)

    monkeypatch.setattr(onednn, "multiply", counted)
    rule = Rule(rows=1, work=0.0, plain=True, fused=frozenset(), tall=tall)
    monkeypatch.setitem(products.RULES, "here", rule)
    monkeypatch.setattr(products, "chosen", lambda: "here")
    for rows, wide, count in ((5, 7, 3), (7, 5, expected), (5, 5, expected)):  # forward, gradients of both
        used.clear()
        x, weight = torch.randn(4, wide, requires_grad=True), torch.randn(rows, wide, requires_grad=True)
        multiply(x, weight, None).sum().backward()
        assert len(used) == count


@pytest.mark.skipif(not onednn.works(), reason="PyTorch has no oneDNN here")
def test_a_rule_may_leave_all_to_pytorch_that_no_activation_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Tensor] = []

    def note(x: Tensor, *more: object) -> bool:
        asked.append(x)
        return False

    monkeypatch.setitem(products.RULES, "here", Rule(rows=1, work=0.0, plain=False, fused=frozenset({gelu})))
    monkeypatch.setattr(products, "chosen", lambda: "here")
    monkeypatch.setattr(onednn, "serves", note)
    x, weight = torch.randn(2, 7), torch.randn(5, 7)
    multiply(x, weight, None)
    multiply(x, weight, None, torch.tanh)
    multiply(x.requires_grad_(), weight, None, gelu)
    assert not asked
    multiply(x.detach(), weight, None, gelu)
    assert len(asked) == 1


def test_a_rule_may_multiply_few_vectors_as_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "LARGE", 1)
    rule = Rule(rows=1, work=0.0, plain=True, fused=frozenset({gelu}), columns=4)
    monkeypatch.setitem(products.RULES, "here", rule)
    monkeypatch.setattr(products, "chosen", lambda: "here")
    asked: list[int] = []

    def counted(x: Tensor, *rest: Any) -> Tensor:
        asked.append(len(x))
        return by_columns(x, *rest)

    monkeypatch.setattr(products, "by_columns", counted)
    weight, bias = torch.randn(7, 5), torch.randn(7)
    for rows in (1, 4, 5):
        x = torch.randn(rows, 5)
        torch.testing.assert_close(multiply(x, weight, bias, gelu), gelu(linear(x, weight, bias)))
    assert asked == [1, 4]


@pytest.mark.skipif(not onednn.works(), reason="PyTorch has no oneDNN here")
def test_a_rule_may_leave_small_matrices_and_gradients_to_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Tensor] = []

    def note(x: Tensor, *more: object) -> bool:
        asked.append(x)
        return False

    heads = Rule(rows=2, work=inf, plain=True, fused=frozenset(), large=35.0, gradients=False)
    monkeypatch.setitem(products.RULES, "here", heads)
    monkeypatch.setattr(products, "chosen", lambda: "here")
    monkeypatch.setattr(onednn, "serves", note)
    multiply(torch.randn(2, 6), torch.randn(5, 6), None)
    multiply(torch.randn(1, 7), torch.randn(5, 7), None)
    multiply(torch.randn(2, 7), torch.randn(5, 7, requires_grad=True), None)
    assert not asked
    multiply(torch.randn(2, 7), torch.randn(5, 7), None)
    assert len(asked) == 1


@pytest.mark.parametrize(("emulated", "served"), [(True, False), (False, True)])
@pytest.mark.skipif(not onednn.works(), reason="PyTorch has no oneDNN here")
def test_emulated_bfloat16_is_left_to_float32(monkeypatch: pytest.MonkeyPatch, emulated: bool, served: bool) -> None:
    asked: list[Tensor] = []

    def note(x: Tensor, *more: object) -> bool:
        asked.append(x)
        return False

    monkeypatch.setattr(products, "chosen", lambda: "onednn")
    monkeypatch.setattr(bfloat16, "fast_bfloat16", lambda: not emulated)
    monkeypatch.setattr(onednn, "serves", note)
    multiply(torch.randn(40, 7).bfloat16(), torch.randn(5, 7).bfloat16(), None)
    assert bool(asked) is served


@pytest.mark.parametrize(
    ("can", "name"),
    [
        ({"architecture": "x86_64", "avx512_f": True, "sse4a": True}, "amd-avx512"),
        ({"architecture": "x86_64", "avx512_f": True, "sse4a": True, "avx512_bf16": True}, "amd-zen4"),
        (
            {"architecture": "x86_64", "avx512_f": True, "sse4a": True, "avx512_bf16": True, "avx_vnni": True},
            "amd-avx512",
        ),
        ({"architecture": "x86_64", "avx512_f": True}, "intel-avx512"),
        ({"architecture": "x86_64", "avx2": True, "sse4a": True}, "amd-avx2"),
        ({"architecture": "x86_64", "avx2": True}, "mkl"),
        ({"architecture": "aarch64"}, "mkl"),
    ],
)
def test_the_rule_follows_the_processor(monkeypatch: pytest.MonkeyPatch, can: dict[str, object], name: str) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: can)
    assert of_processor() == name


@pytest.mark.parametrize("asked", RULES)
def test_the_variable_overrides_the_processor(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    monkeypatch.setenv("ZOO_PRODUCTS", asked)
    assert chosen.__wrapped__() == asked
    monkeypatch.setenv("ZOO_PRODUCTS", "auto")
    assert chosen.__wrapped__() == of_processor()


def test_another_value_of_the_variable_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_PRODUCTS", "fast")
    names = "auto, mkl, onednn, amd-avx512, amd-zen4, amd-avx2, intel-avx512"
    with pytest.raises(ConfigError, match=f"^ZOO_PRODUCTS='fast' is not one of {names}$"):
        chosen.__wrapped__()


def missing(*parts: object) -> Tensor:
    raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_linear_pointwise'")


def refusing(*parts: object) -> Tensor:
    raise RuntimeError("mkldnn_linear_pointwise: this processor is not supported")


@pytest.mark.parametrize("operator", [missing, refusing])
def test_every_rule_multiplies_where_the_operator_is_missing_or_refuses(
    rule: str, operator: Callable[..., Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onednn, "_operator", operator)
    monkeypatch.setattr(onednn, "_right", onednn._right.__wrapped__)
    x, weight = torch.randn(16, 2048), torch.randn(2048, 2048, requires_grad=True)
    wanted = gelu(linear(x, weight))
    torch.testing.assert_close(multiply(x, weight, None, gelu), wanted)
    (found,) = torch.autograd.grad(multiply(x, weight, None, gelu).sum(), weight)
    torch.testing.assert_close(found, torch.autograd.grad(wanted.sum(), weight)[0], rtol=1e-4, atol=1e-4)
    with torch.no_grad():
        torch.testing.assert_close(multiply(x, weight, None, gelu), wanted)


@pytest.mark.usefixtures("_anything")
def test_every_rule_gives_shapes_without_memory() -> None:
    for rows in (2, 16):
        x, weight, bias = (torch.empty(*shape, device="meta") for shape in ((rows, 48), (64, 48), (64,)))
        with torch.no_grad():
            assert multiply(x, weight, bias, gelu).shape == (rows, 64)
        y = multiply(x, weight.requires_grad_(), bias, gelu)
        assert (y.shape, y.device.type, y.requires_grad) == ((rows, 64), "meta", True)


@pytest.mark.usefixtures("_anything")
def test_every_rule_is_followed_by_transforms_of_functions() -> None:
    for rows in (2, 16):
        x, weight = torch.randn(3, rows, 512).double(), torch.randn(3, 512, 512).double() / 512**0.5
        single = x.float(), weight.float()
        found = torch.func.vmap(lambda x, weight: multiply(x, weight, None, gelu))(*single)
        torch.testing.assert_close(found.double(), gelu(x @ weight.mT), rtol=1e-4, atol=1e-4)

    def loss(weight: Tensor, x: Tensor, way: Callable[..., Tensor]) -> Tensor:
        return way(x, weight).square().sum()

    grads = torch.func.vmap(torch.func.grad(lambda w, x: loss(w, x, lambda x, w: multiply(x, w, None))))(*single[::-1])
    wanted = torch.func.vmap(torch.func.grad(lambda w, x: loss(w, x, linear)))(weight, x)
    torch.testing.assert_close(grads.double(), wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.usefixtures("_anything")
def test_every_rule_has_second_derivatives() -> None:
    x, weight, along = torch.randn(16, 512), torch.randn(512, 512) / 512**0.5, torch.randn(512, 512)

    def along_twice(way: Callable[..., Tensor], dtype: torch.dtype) -> Tensor:
        parts = [part.to(dtype) for part in (x, weight, along)]
        _, found = torch.autograd.functional.hvp(lambda w: way(parts[0], w).tanh().pow(3).sum(), parts[1], parts[2])
        return found

    found, wanted = along_twice(lambda x, w: multiply(x, w, None), torch.float32), along_twice(linear, torch.float64)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-3, atol=1e-3 * float(wanted.abs().max()))
