"""Products of float vectors with int8 matrices by oneDNN's operator, which PyTorch has for its compiler.

The operator multiplies bytes: eight bits of a vector are too few. So a vector is rounded to sixteen bits, as shares of
its largest number, and multiplied as two rows of bytes, for which the matrix is read once. Sums are whole numbers: the
answer of a vector depends on no other vector and on no number of threads.

The operator is private: it is asked once for a small product before it is used.
"""

import functools
import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int8
from torch import Tensor, nn

from zoo.core.ops.onednn import traced

STEPS = 32_639.0
"""A vector's largest number in steps; with `MIDDLE`, the byte of 128, and a half for rounding it is 65,535."""
MIDDLE = torch.tensor(128 * 257 + 0.5)
SHIFTS = torch.tensor([[0], [8]], dtype=torch.int32)
WORTH = torch.tensor([[1.0, 256.0]])
LONGEST = 2**16
"""Numbers of a vector whose products always fit into 32 bits."""


class Packed(NamedTuple):
    """An int8 matrix in the order of the operator.

    Args:
        matrix: opaque.
        scale: of its rows.
        zero: of its rows, all 0.
    """

    matrix: Tensor
    scale: Float[Tensor, " e"]
    zero: Tensor


def pack(values: Int8[Tensor, "e d"], scale: Float[Tensor, " e"]) -> Packed:
    """Bring a matrix into the order of the operator, for any number of vectors."""
    zero = torch.zeros(1, dtype=torch.int64)
    return Packed(torch.ops.onednn.qlinear_prepack(values.contiguous(), None), scale.float(), zero)


def serves(x: Tensor, values: Tensor, bias: Tensor | None) -> bool:
    """Tell whether the operator multiplies these: plain vectors on a CPU, no gradient, nothing that traces."""
    return (
        type(x) in (Tensor, nn.Parameter)
        and x.dtype in (torch.float32, torch.bfloat16, torch.float16)
        and x.is_cpu
        and values.is_cpu
        and min(x.numel(), values.numel()) > 0
        and values.shape[1] <= LONGEST
        and not (torch.is_grad_enabled() and (x.requires_grad or (bias is not None and bias.requires_grad)))
        and not torch.is_autocast_enabled("cpu")
        and not traced()
        and works()
    )


def works() -> bool:
    """Tell whether oneDNN is there, switched on, fast with bytes on this processor, and right on a small product."""
    return torch._C._get_mkldnn_enabled() and _right()


@functools.cache
def _right() -> bool:
    can = torch.cpu.get_capabilities()
    if not (can.get("avx512_vnni") or can.get("avx_vnni")):
        return False  # without these instructions sums of two products saturate at 16 bits
    values = torch.arange(-127, 128, dtype=torch.int8).repeat(40)[: 33 * 64].view(33, 64)
    values[0] = 127
    scale, x = torch.arange(1.0, 34.0), torch.arange(3.0 * 64).sin().view(3, 64)
    x[0] = 1.0
    try:
        found = multiply(x, pack(values, scale), None)
    except (AttributeError, RuntimeError):
        return False
    wanted = (x.double() @ values.double().T * scale.double()).float()
    return torch.allclose(found, wanted, rtol=1e-4, atol=1e-4 * float(wanted.abs().max()))


def multiply(x: Float[Tensor, "*n d"], weight: Packed, bias: Float[Tensor, " e"] | None) -> Float[Tensor, "*n e"]:
    """Give `x @ weight.T + bias` without derivatives.

    Args:
        x: vectors; NaN and infinity spoil the answer of their own vector.
        weight: what `pack` gave.
        bias: of the answer.
    """
    rows = x.reshape(-1, x.shape[-1])
    if x.dtype is not torch.float32:
        rows = rows.float()
    n = rows.shape[0]
    largest = torch.linalg.vector_norm(rows, math.inf, 1, keepdim=True)
    # A vector of zeros makes 0 / 0, which is some byte or other, and is multiplied by 0 in the end.
    steps = torch.addcdiv(MIDDLE, rows, largest, value=STEPS).to(torch.int32)
    low_high = (steps >> (SHIFTS if n == 1 else SHIFTS[..., None])).to(torch.uint8)
    y = torch.ops.onednn.qlinear_pointwise(
        low_high if n == 1 else low_high.flatten(0, 1),
        1 / STEPS,
        128,
        *weight,
        None,
        1.0,
        0,
        torch.float32,
        "none",
        [],
        "",
    )
    if bias is None:
        y = torch.add(y[:n], y[n:], alpha=256).mul_(largest)
    elif n == 1:
        y = torch.addmm(bias, largest * WORTH, y)
    else:
        y = torch.addcmul(bias, torch.add(y[:n], y[n:], alpha=256), largest)
    return y.view(*x.shape[:-1], -1) if x.dtype is torch.float32 else y.view(*x.shape[:-1], -1).to(x.dtype)
