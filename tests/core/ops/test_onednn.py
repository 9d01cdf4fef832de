"""Products by oneDNN: values, gradients, and what it is not asked for."""

import warnings
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.functional import linear
from torch.utils.flop_counter import FlopCounterMode

from zoo.core.ops import onednn
from zoo.core.ops.onednn import FUSED, differentiable, multiply, serves, works

needs_operator = pytest.mark.skipif(not works(), reason="PyTorch has no oneDNN here")


def parts(*batch: int) -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(*batch, 7), torch.randn(5, 7), torch.randn(5)


@needs_operator
@pytest.mark.parametrize("activation", [None, *FUSED])
@pytest.mark.parametrize("batch", [(1,), (6,), (2, 3)])
def test_values_are_those_of_pytorch(activation: onednn.Activation | None, batch: tuple[int, ...]) -> None:
    x, weight, bias = parts(*batch)
    exact = linear(x.double(), weight.double(), bias.double())
    wanted = (activation(exact) if activation else exact).float()
    torch.testing.assert_close(multiply(x, weight, bias, activation), wanted, rtol=1e-5, atol=1e-5)


@needs_operator
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T.contiguous().T,
        lambda x: torch.stack([x, x], -1)[..., 0],
        lambda x: x[:1].expand(6, 7),
        lambda x: torch.cat([x, x])[::2],
        lambda x: x.flatten().unfold(0, 7, 3)[:6],
    ],
)
def test_views_are_multiplied_as_they_are(view: Callable[[Tensor], Tensor]) -> None:
    x, weight, bias = parts(6)
    assert serves(view(x), view(x), None)
    torch.testing.assert_close(multiply(view(x), weight, bias), linear(view(x), weight, bias), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(multiply(weight, view(x), None), linear(weight, view(x)), rtol=1e-5, atol=1e-5)


@needs_operator
@pytest.mark.parametrize("batch", [(6,), (2, 3)])
@pytest.mark.parametrize("needed_parts", ["xwb", "x", "w", "b"])
def test_gradients_are_those_of_pytorch(batch: tuple[int, ...], needed_parts: str) -> None:
    leaves = [part.requires_grad_(name in needed_parts) for part, name in zip(parts(*batch), "xwb", strict=True)]
    needed = [part for part in leaves if part.requires_grad]
    found = torch.autograd.grad(differentiable(leaves[0], leaves[1], leaves[2]).square().sum(), needed)
    exact = torch.autograd.grad(linear(*(part.double() for part in leaves)).square().sum(), needed)
    torch.testing.assert_close(found, exact, rtol=1e-5, atol=1e-4)


@needs_operator
def test_gradients_of_a_matrix_that_windows_of_a_sound_are_multiplied_with() -> None:
    windows, weight = torch.randn(40).unfold(0, 7, 3), torch.randn(5, 7, requires_grad=True)
    (found,) = torch.autograd.grad(differentiable(windows, weight, None).sum(), weight)
    torch.testing.assert_close(found, windows.sum(0).expand(5, 7), rtol=1e-5, atol=1e-5)


@needs_operator
def test_an_answer_is_no_view_which_sharded_modules_warn_of() -> None:
    x, weight, bias = parts(2, 3)
    assert not multiply(x, weight, bias)._is_view()


@needs_operator
def test_second_derivatives_are_those_of_pytorch() -> None:
    x, weight, bias = parts(3)

    def loss(way: Callable[..., Tensor]) -> Callable[[Tensor], Tensor]:
        return lambda weight: way(x, weight, bias).pow(3).sum()

    found = torch.autograd.functional.hvp(loss(differentiable), weight, weight)[1]
    wanted = torch.autograd.functional.hvp(loss(linear), weight, weight)[1]
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-3)


@needs_operator
def test_many_gradients_at_once_are_those_of_pytorch() -> None:
    x, weight, bias = parts(3)
    x.requires_grad_()
    upstream = torch.randn(4, 3, 5)
    (found,) = torch.autograd.grad(differentiable(x, weight, bias), x, upstream, is_grads_batched=True)
    torch.testing.assert_close(found, upstream @ weight, rtol=1e-5, atol=1e-5)


@needs_operator
def test_it_serves_plain_dense_tensors_of_one_precision_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight, bias = parts(6)
    assert serves(x, nn.Parameter(weight), bias)
    assert serves(x.bfloat16(), weight.bfloat16(), None) is onednn.works(torch.bfloat16)  # not on AVX2 alone
    assert not serves(x.double(), weight.double(), None)
    assert not serves(x, weight.bfloat16(), None)
    assert not serves(x[:0], weight, bias)
    assert not serves(x, weight, torch.randn(10)[::2])  # it would be read as if it were contiguous
    assert not serves(x.to("meta"), weight.to("meta"), None)
    assert not serves(x.to_sparse(), weight, None)
    with torch.autocast("cpu", torch.bfloat16):
        assert not serves(x, weight, bias)
    monkeypatch.setattr(torch._C, "_get_mkldnn_enabled", lambda: False)
    assert not serves(x, weight, bias)


@needs_operator
def test_it_does_not_serve_what_is_traced() -> None:
    x, weight, _ = parts(6)
    seen: list[bool] = []

    def asked(x: Tensor) -> Tensor:
        seen.append(serves(x, weight, None))
        return linear(x, weight)

    torch.func.vmap(asked)(x)
    torch.func.grad(lambda x: asked(x).sum())(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated, and says that it cannot follow the answer
        torch.jit.trace(asked, x, check_trace=False)
    make_fx(asked)(x)
    with FlopCounterMode(display=False):
        asked(x)
    assert seen
    assert not any(seen)


@needs_operator
@pytest.mark.parametrize(("device", "dtype"), [("meta", torch.float32), ("cpu", torch.float64)])
def test_the_operator_is_tried_whatever_the_defaults_are(device: str, dtype: torch.dtype) -> None:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            assert onednn._right.__wrapped__(torch.float32)
    finally:
        torch.set_default_dtype(before)


def test_without_the_operator_nothing_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*parts: object) -> Tensor:
        raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_linear_pointwise'")

    monkeypatch.setattr(onednn, "_operator", missing)
    monkeypatch.setattr(onednn, "_right", onednn._right.__wrapped__)
    assert not works()
    monkeypatch.setattr(onednn, "_operator", lambda x, weight, bias, *more: 2 * linear(x, weight, bias))
    assert not works()  # it answers, and wrongly


@needs_operator
def test_a_processor_whose_operator_refuses_bfloat16_keeps_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = onednn._operator

    def refusing(x: Tensor, *more: object) -> Tensor:
        if x.dtype is torch.bfloat16:
            raise RuntimeError("mkldnn_linear_pointwise: bf16 path needs the cpu support avx512bw")
        return operator(x, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(onednn, "_operator", refusing)
    monkeypatch.setattr(onednn, "_right", onednn._right.__wrapped__)
    x, weight, _ = parts(6)
    assert serves(x, weight, None)
    assert not serves(x.bfloat16(), weight.bfloat16(), None)
