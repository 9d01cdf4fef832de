"""Float32 and bfloat16 products by oneDNN's operator, which PyTorch has for its compiler; activations are fused.

The operator is private: it is asked once for a small product before it is used, and `linear` computes wherever it is
missing, wrong, or cannot be followed (`serves`).
"""

import functools
from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from torch.nn.functional import linear

from zoo.core.ops.activations import gelu, gelu_tanh, relu, silu
from zoo.core.ops.first_order import transforms_active

Activation = Callable[[Tensor], Tensor]

FUSED: Mapping[Activation, tuple[str, str]] = {
    gelu: ("gelu", "none"),
    gelu_tanh: ("gelu", "tanh"),
    relu: ("relu", ""),
    silu: ("swish", ""),
}
"""What oneDNN computes while it writes a product, with its names for the function and its formula."""


def serves(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Tell whether the operator multiplies these: plain dense tensors of one precision, nothing that traces.

    It reads a bias as if it were contiguous, and has no batching rule, no derivative and no shape for tracers.
    """
    return x.dtype in (torch.float32, torch.bfloat16) and plain(x, weight, bias) and works(x.dtype)


def plain(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Tell whether these are dense tensors of one precision on a CPU, and neither autocast nor tracers are at work."""
    parts = (x, weight) if bias is None else (x, weight, bias)
    return (
        all(type(part) in (Tensor, nn.Parameter) and part.dtype is x.dtype and part.is_cpu for part in parts)
        and x.layout is weight.layout is torch.strided
        and weight.dim() == 2
        and min(x.numel(), weight.numel()) > 0
        and (bias is None or bias.is_contiguous())
        and not torch.is_autocast_enabled("cpu")
        and not traced()
    )


def traced() -> bool:
    """Tell whether something follows the operations: a compiler, an exporter, a counter, or `torch.func`."""
    return (
        torch.compiler.is_compiling()
        or torch._C._get_tracing_state() is not None
        or torch._C._len_torch_dispatch_stack() > 0
        or transforms_active()
    )


def works(dtype: torch.dtype = torch.float32) -> bool:
    """Tell whether oneDNN is there, switched on, and right on a small product in a precision."""
    return torch._C._get_mkldnn_enabled() and _right(dtype)


@functools.cache
def _right(dtype: torch.dtype) -> bool:
    x, weight, bias = (torch.arange(n, dtype=torch.float32, device="cpu").sin().to(dtype) for n in (12, 20, 5))
    x, weight = x.view(3, 4), weight.view(5, 4)
    try:
        found = [_operator(x, weight, bias, *FUSED[name]) for name in FUSED]
        turned = _operator(x.T.contiguous().T, weight.T.contiguous().T, None, "none", "")
    except (AttributeError, RuntimeError):
        return False
    x, weight, bias = x.float(), weight.float(), bias.float()
    wanted = [name(linear(x, weight, bias)) for name in FUSED]
    return all(map(_close, [*found, turned], [*wanted, linear(x, weight)]))


def _close(found: Tensor, wanted: Tensor) -> bool:
    off = 1e-4 if found.dtype is torch.float32 else 0.02
    return torch.allclose(found.float(), wanted, rtol=off, atol=off / 10)


def multiply(
    x: Float[Tensor, "*n d"], weight: Float[Tensor, "e d"], bias: Tensor | None, activation: Activation | None = None
) -> Float[Tensor, "*n e"]:
    """Give `activation(x @ weight.T + bias)` without derivatives.

    Args:
        x: vectors; any strides.
        weight: a matrix; any strides.
        bias: contiguous.
        activation: one of `FUSED`.
    """
    rows = x if x.dim() == 2 else x.reshape(-1, x.shape[-1])
    y = _operator(_apart(rows), _apart(weight), bias, *(FUSED[activation] if activation else ("none", "")))
    # Not a view: what is written into one would escape the hooks of sharded modules.
    return y if x.dim() == 2 else torch.ops.aten._unsafe_view(y, (*x.shape[:-1], len(weight)))


def _apart(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """Copy a view whose rows share numbers, such as windows of a sound, which the operator refuses."""
    (n, d), (down, across) = x.shape, x.stride()
    return x if (across == 1 and down >= d) or (down == 1 and across >= n) else x.contiguous()


def _operator(x: Tensor, weight: Tensor, bias: Tensor | None, function: str, formula: str) -> Tensor:
    y: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, function, [], formula)
    return y


def differentiable(
    x: Float[Tensor, "*n d"], weight: Float[Tensor, "e d"], bias: Tensor | None, of_weight: bool = True
) -> Tensor:
    """Give `x @ weight.T + bias`; gradients are products by oneDNN too, that of the weight only if `of_weight`."""
    y: Tensor = _Product.apply(x, weight, bias, of_weight)
    return y


class _Product(torch.autograd.Function):
    """A linear layer whose first derivatives oneDNN multiplies; further ones are PyTorch's."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, weight: Tensor, bias: Tensor | None, of_weight: bool) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.of_weight = of_weight  # type: ignore[attr-defined]
        return multiply(x, weight, bias)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors  # type: ignore[attr-defined]
        need_x, need_weight, need_bias, _ = ctx.needs_input_grad  # type: ignore[attr-defined]
        followed = torch.is_grad_enabled() or torch._C._functorch.is_legacy_batchedtensor(grad)
        times = torch.matmul if followed or not serves(grad, weight, None) else _matmul
        times_rows = times if ctx.of_weight else torch.matmul  # type: ignore[attr-defined]
        rows = grad.reshape(-1, grad.shape[-1])
        return (
            times(grad, weight) if need_x else None,
            times_rows(rows.T, x.reshape(-1, x.shape[-1])) if need_weight else None,
            rows.sum(0) if need_bias else None,
            None,
        )


def _matmul(a: Tensor, b: Tensor) -> Tensor:
    return multiply(a, b.T, None)
