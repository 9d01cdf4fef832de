"""Products of bfloat16 tensors on processors that only emulate them: in float32, rounded once."""

import functools

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.nn.functional import linear

from zoo.core.ops.first_order import transforms_active


@functools.cache
def fast_bfloat16() -> bool:
    """Tell whether this processor multiplies bfloat16 matrices faster than float32 ones.

    Intel's without AMX do not: AVX512-BF16 alone reached 0.55 of the float32 rate on a Sapphire Rapids. AMD's do
    (Zen 4 and later run it at twice the rate). Other architectures are left to PyTorch.
    """
    can = torch.cpu.get_capabilities()
    return can.get("architecture") != "x86_64" or bool(can.get("amx_bf16")) or fast_vectors()


@functools.cache
def fast_vectors() -> bool:
    """Tell whether AVX-512, without matrix units, multiplies bfloat16 faster than float32: AMD's Zen 4 and later."""
    can = torch.cpu.get_capabilities()
    return bool(can.get("sse4a") and can.get("avx512_bf16") and not can.get("amx_bf16"))


def in_float32(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Give `x @ weight.T + bias` of bfloat16 tensors, multiplied in float32, in bfloat16."""
    y: Tensor = (_product if transforms_active() else _InFloat32.apply)(x, weight, bias)
    return y


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return linear(x.float(), weight.float(), None if bias is None else bias.float()).to(x.dtype)


class _InFloat32(torch.autograd.Function):
    """A linear layer on bfloat16 tensors in float32; autograd alone would keep a float32 copy of each for backward."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

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
