"""Products of float vectors with int8 matrices by oneDNN's operator, which PyTorch has for its compiler.

The operator multiplies bytes: eight bits of a vector are too few. So a vector is rounded to sixteen bits, as shares of
its largest number, and multiplied as two rows of bytes, for which the matrix is read once. Sums are whole numbers: the
answer of a vector depends on no other vector of the batch and on no number of threads; a vector alone that is given a
bias is rounded by fewer operations, and differs from itself in a batch by rounding.

The operator is private: it is asked once for a small product before it is used.
"""

import functools
from typing import NamedTuple

import torch
from jaxtyping import Float, Int8, UInt8
from torch import Tensor, nn

from zoo.core.ops.onednn import traced

STEPS = 32_639.0
"""A vector's largest number in steps; with `MIDDLE`, the byte of 128, and a half for rounding it is 65,535."""
MIDDLE = torch.tensor(128 * 257 + 0.5, dtype=torch.float32, device="cpu")
SHIFTS = torch.tensor([[0], [8]], dtype=torch.int32, device="cpu")
WORTH = torch.tensor([[1.0, 256.0]], dtype=torch.float32, device="cpu")
LEAST = 1e-30
"""The least number that counts as a vector's largest: its share of the steps is still a float32."""
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
    zero = torch.zeros(1, dtype=torch.int64, device="cpu")
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
    values = torch.arange(-127, 128, dtype=torch.int8, device="cpu").repeat(40)[: 33 * 64].view(33, 64)
    values[0] = 127
    floats = torch.arange(3 * 64, dtype=torch.float32, device="cpu")
    scale, x = floats[1:34], floats.sin().view(3, 64)
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
        rows, bias = rows.float(), None if bias is None else bias.float()
    y = _several(rows, weight, bias) if bias is None or rows.shape[0] > 1 else _one(rows, weight, bias)
    return y.view(*x.shape[:-1], -1) if x.dtype is torch.float32 else y.view(*x.shape[:-1], -1).to(x.dtype)


def _one(x: Float[Tensor, "1 d"], weight: Packed, bias: Tensor) -> Float[Tensor, "1 e"]:
    """Multiply one vector: its largest number is read, so that the operator's own scale takes it along."""
    lowest, highest = torch.aminmax(x)
    largest = max(-lowest.item(), highest.item(), LEAST)
    steps = torch.add(MIDDLE, x, alpha=STEPS / largest).to(torch.int32)
    y = _multiplied((steps >> SHIFTS).to(torch.uint8), largest / STEPS, weight)
    return torch.addmm(bias, WORTH, y)


def _several(x: Float[Tensor, "n d"], weight: Packed, bias: Tensor | None) -> Float[Tensor, "n e"]:
    n, largest = x.shape[0], x.abs().amax(1, keepdim=True)
    # A vector of zeros makes 0 / 0, which is some byte or other, and is multiplied by 0 in the end.
    steps = torch.addcdiv(MIDDLE, x, largest, value=STEPS).to(torch.int32)
    y = _multiplied((steps >> SHIFTS[..., None]).to(torch.uint8).flatten(0, 1), 1 / STEPS, weight)
    y = torch.add(y[:n], y[n:], alpha=256)
    return y.mul_(largest) if bias is None else torch.addcmul(bias, y, largest)


def _multiplied(rows: UInt8[Tensor, "n d"], scale: float, weight: Packed) -> Float[Tensor, "n e"]:
    operator = torch.ops.onednn.qlinear_pointwise.default  # to find it among its overloads takes 10 us
    y: Tensor = operator(rows, scale, 128, *weight, None, 1.0, 0, torch.float32, "none", [], "")
    return y
