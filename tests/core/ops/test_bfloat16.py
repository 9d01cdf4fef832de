"""Products of bfloat16 tensors on processors that emulate them, and on those that do not."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.core.ops import bfloat16
from zoo.core.ops.bfloat16 import fast_bfloat16, fast_vectors
from zoo.core.ops.linear import Linear


def gradients(layer: nn.Module, x: Tensor) -> list[Tensor]:
    x = x.detach().clone().requires_grad_()
    y = layer(x)
    return [y.float(), *(g.float() for g in torch.autograd.grad(y.float().square().sum(), [x, *layer.parameters()]))]


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("bias", [True, False])
def test_values_and_gradients_are_those_of_a_linear_layer(
    monkeypatch: pytest.MonkeyPatch, fast: bool, dtype: torch.dtype, bias: bool
) -> None:
    monkeypatch.setattr(bfloat16, "fast_bfloat16", lambda: fast)
    layer, x = Linear(6, 5, bias=bias).to(dtype), torch.randn(2, 3, 6, dtype=dtype)
    exact = nn.Linear(6, 5, bias=bias).double()
    exact.load_state_dict(layer.state_dict())
    tolerance = 1e-5 if dtype is torch.float32 else 5e-2
    for got, wanted in zip(gradients(layer, x), gradients(exact, x.double()), strict=True):
        torch.testing.assert_close(got, wanted, atol=tolerance, rtol=tolerance)
    assert layer(x).dtype == dtype


def test_slow_bfloat16_has_second_derivatives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bfloat16, "fast_bfloat16", lambda: False)
    layer, x = Linear(6, 5).bfloat16(), torch.randn(3, 6).bfloat16()
    exact = nn.Linear(6, 5).float()
    exact.load_state_dict(layer.state_dict())

    def loss(layer: nn.Module) -> Any:
        return lambda x: layer(x).pow(3).sum()

    wanted = torch.autograd.functional.hvp(loss(exact), x.float(), x.float())[1]
    for found in (
        torch.autograd.functional.hvp(loss(layer), x, x)[1],
        torch.func.jvp(torch.func.grad(loss(layer)), (x,), (x,))[1],
    ):
        torch.testing.assert_close(found.float(), wanted, atol=5e-2 * float(wanted.abs().max()), rtol=0)


def test_slow_bfloat16_rounds_once_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bfloat16, "fast_bfloat16", lambda: False)
    layer, x = Linear(64, 3, bias=False).bfloat16(), torch.randn(4, 64).bfloat16()
    torch.testing.assert_close(layer(x), (x.float() @ layer.weight.float().T).bfloat16(), atol=0, rtol=0)


@pytest.mark.parametrize("fast", [True, False])
def test_autocast_multiplies_in_bfloat16_only_where_that_is_fast(monkeypatch: pytest.MonkeyPatch, fast: bool) -> None:
    monkeypatch.setattr(bfloat16, "fast_bfloat16", lambda: fast)
    with torch.autocast("cpu", torch.bfloat16):
        assert Linear(4, 4)(torch.randn(2, 4)).dtype == (torch.bfloat16 if fast else torch.float32)


@pytest.mark.parametrize(
    ("can", "fast", "vectors"),
    [
        ({"architecture": "x86_64", "amx_bf16": True, "avx512_bf16": True}, True, False),
        ({"architecture": "x86_64", "avx512_bf16": True}, False, False),
        ({"architecture": "x86_64", "avx512_bf16": True, "sse4a": True}, True, True),
        ({"architecture": "aarch64"}, True, False),
    ],
)
def test_processors(monkeypatch: pytest.MonkeyPatch, can: dict[str, object], fast: bool, vectors: bool) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: can)
    monkeypatch.setattr(bfloat16, "fast_vectors", fast_vectors.__wrapped__)
    assert (fast_bfloat16.__wrapped__(), fast_vectors.__wrapped__()) == (fast, vectors)


def test_few_rows_in_bfloat16_are_rounded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bfloat16, "fast_bfloat16", lambda: False)
    layer, x = Linear(64, 8).bfloat16(), torch.randn(2, 64).bfloat16()
    with torch.no_grad():
        exact = (x.double() @ layer.weight.double().T + layer.bias.double()).bfloat16()
        torch.testing.assert_close(layer(x), exact, atol=0.01, rtol=0.01)
