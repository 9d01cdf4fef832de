"""`Linear`: a linear layer that multiplies in the fastest precision of the machine."""

import functools

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from torch.nn.functional import linear

from zoo.core.ops.first_order import transforms_active

FEW = (4, 12)
"""Rows that are multiplied panel by panel."""
PANEL = 32
LARGE = 2**18
"""Numbers of a matrix from which on its transfer from memory is what counts."""
MANY = 32
"""Rows from which on a matrix in bfloat16 is turned into float32 first, where that is faster."""


class Linear(nn.Linear):
    """A linear layer; bfloat16, as dtype or by autocast, is multiplied in float32 where that is faster."""

    def forward(self, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n e"]:
        """Give `x @ weight.T + bias`."""
        return multiply(x, self.weight, self.bias)


def multiply(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Give `x @ weight.T + bias`; see `Linear`."""
    if not x.is_cpu:
        return linear(x, weight, bias)
    if FEW[0] <= x.numel() // max(x.shape[-1], 1) <= FEW[1] and in_panels(x, weight):
        return by_panels(x, weight, bias)
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else x.dtype
    if dtype is not torch.bfloat16 or torch.compiler.is_compiling() or fast_bfloat16():
        return linear(x, weight, bias)
    if x.dtype is weight.dtype is dtype and x.numel() < MANY * x.shape[-1] and not torch.is_grad_enabled():
        return linear(x, weight, bias)  # a matrix that is read once is not worth a copy in float32
    with torch.autocast("cpu", enabled=False):
        if x.dtype is weight.dtype is torch.bfloat16:
            y: Tensor = (_in_float32 if transforms_active() else _InFloat32.apply)(x, weight, bias)
            return y
        return linear(x.float(), weight.float(), None if bias is None else bias.float())


def in_panels(x: Tensor, weight: Tensor) -> bool:
    """Tell whether a few rows are multiplied faster panel by panel: plain float32, no gradient, and a large matrix."""
    return (
        x.dtype is weight.dtype is torch.float32
        and weight.numel() >= LARGE
        and weight.is_contiguous()
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and not (torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad))
    )


def by_panels(x: Float[Tensor, "*n d"], weight: Float[Tensor, "e d"], bias: Tensor | None) -> Float[Tensor, "*n e"]:
    """Give `x @ weight.T + bias` as a batch of products with panels of the matrix, which are views.

    One product with few rows spends its time on bringing the matrix into the order that its kernel wants. Panels took
    0.5 to 0.8 of its time for 4 to 12 rows on one and two threads, and more from 16 rows on (torch 2.13, AVX-512).
    """
    rows = x.reshape(-1, x.shape[-1])
    whole = len(weight) // PANEL * PANEL
    panels = weight[:whole].view(-1, PANEL, weight.shape[1])
    y = torch.bmm(rows.expand(len(panels), *rows.shape), panels.mT).transpose(0, 1).reshape(len(rows), whole)
    if whole < len(weight):
        y = torch.cat([y, linear(rows, weight[whole:])], dim=1)
    if bias is not None:
        y += bias
    return y.view(*x.shape[:-1], len(weight))


@functools.cache
def fast_bfloat16() -> bool:
    """Tell whether this processor multiplies bfloat16 matrices faster than float32 ones.

    Intel's without AMX do not: AVX512-BF16 alone reached 0.55 of the float32 rate on a Sapphire Rapids. AMD's do
    (Zen 4 and later run it at twice the rate). Other architectures are left to PyTorch.
    """
    can = torch.cpu.get_capabilities()
    if can.get("architecture") != "x86_64":
        return True
    return bool(can.get("amx_bf16") or (can.get("sse4a") and can.get("avx512_bf16")))


def _in_float32(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return linear(x.float(), weight.float(), None if bias is None else bias.float()).to(x.dtype)


class _InFloat32(torch.autograd.Function):
    """A linear layer on bfloat16 tensors in float32; autograd alone would keep a float32 copy of each for backward."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _in_float32(x, weight, bias)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors  # type: ignore[attr-defined]
        need_x, need_weight, need_bias = ctx.needs_input_grad  # type: ignore[attr-defined]
        g = grad.flatten(0, -2).float()
        return (
            (g @ weight.float()).to(x.dtype).view(x.shape) if need_x else None,
            (g.T @ x.flatten(0, -2).float()).to(weight.dtype) if need_weight else None,
            g.sum(0).to(weight.dtype) if need_bias else None,
        )
