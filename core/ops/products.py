"""`multiply`: every product of activations with weights, and the one rule by which it is computed.

The rule follows the processor and the shape, never a timing at run time: the same machine gives the same bits. It was
made from `zoo bench speed --suite products`; docs/products.md says how to add a processor.
"""

import functools
import os
from dataclasses import dataclass
from math import inf

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import linear

from zoo.core.errors import ConfigError
from zoo.core.ops import bfloat16, onednn
from zoo.core.ops.activations import gelu_tanh
from zoo.core.ops.columns import by_columns, in_columns
from zoo.core.ops.int8.int8_matrix import Int8Matrix
from zoo.core.ops.onednn import FUSED, Activation
from zoo.core.ops.panels import by_panels, in_panels

VARIABLE = "ZOO_PRODUCTS"
"""Environment variable that overrides the rule of the processor."""
MANY = 32
"""Rows from which on a matrix in bfloat16 is turned into float32 first, where that is faster."""


@dataclass(frozen=True)
class Rule:
    """Tell what oneDNN multiplies on a processor; PyTorch (`linear`, panels, columns) multiplies the rest.

    Args:
        rows: vectors from which on it does.
        work: multiply-adds from which on it does: a call of it costs about 20 us more, with gradients 160 us.
        plain: whether products that no activation follows are among them, and those of the gradients.
        fused: activations that it computes with the product where no gradient is wanted.
        large: numbers of a matrix from which on it does with less work too.
        gradients: whether it computes products whose gradients are wanted, and these.
        tall: whether it computes a weight's gradient too where the matrix has no more columns than rows.
        columns: vectors up to which PyTorch multiplies them as columns of a product (`columns.py`), before all else.
    """

    rows: int
    work: float
    plain: bool
    fused: frozenset[Activation]
    large: float = inf
    gradients: bool = True
    tall: bool = True
    columns: int = 0


RULES = {
    "mkl": Rule(rows=0, work=0.0, plain=False, fused=frozenset()),
    "onednn": Rule(rows=1, work=0.0, plain=True, fused=frozenset(FUSED)),
    "amd-avx512": Rule(rows=2, work=4e6, plain=True, fused=frozenset(FUSED)),
    "amd-zen4": Rule(rows=1, work=1.6e7, plain=True, fused=frozenset(FUSED), large=4e5, tall=False, columns=4),
    "amd-avx2": Rule(rows=2, work=inf, plain=True, fused=frozenset(), large=4e6, gradients=False),
    "intel-avx512": Rule(rows=16, work=4e6, plain=False, fused=frozenset({gelu_tanh})),
}
"""By the name that `ZOO_PRODUCTS` or the processor has."""


def multiply(
    x: Float[Tensor, "*n d"],
    weight: Float[Tensor, "e d"] | Int8Matrix,
    bias: Tensor | None,
    activation: Activation | None = None,
) -> Float[Tensor, "*n e"]:
    """Give `activation(x @ weight.T + bias)`.

    Args:
        x: vectors.
        weight: a matrix, one row for each channel of the answer.
        bias: of the answer.
        activation: applied to the product, which it may overwrite; those in `onednn.FUSED` cost least.
    """
    if isinstance(weight, Int8Matrix):
        y = weight.multiply(x, bias)
        return activation(y) if activation else y
    rule = RULES["mkl" if torch.compiler.is_compiling() else chosen()]  # a compiler could not follow the choice
    if rule.columns and in_columns(x, weight, bias, rule.columns):
        y = by_columns(x, weight, bias)
        return activation(y) if activation else y
    if not (rule.plain or activation in rule.fused):
        y = _by_pytorch(x, weight, bias)
        return activation(y) if activation else y
    differentiated = torch.is_grad_enabled() and any(
        part is not None and part.requires_grad for part in (x, weight, bias)
    )
    fused = activation if activation in rule.fused and not differentiated else None
    wanted = (rule.plain or fused) and (rule.gradients or not differentiated)
    if not (x.is_cpu and wanted and _worthwhile(rule, x, weight) and onednn.serves(x, weight, bias)):
        y = _by_pytorch(x, weight, bias)
    elif differentiated:
        y = onednn.differentiable(x, weight, bias, rule.tall or len(weight) < weight.shape[1])
    else:
        y = onednn.multiply(x, weight, bias, fused)
        activation = None if fused else activation
    return activation(y) if activation else y


def _worthwhile(rule: Rule, x: Tensor, weight: Tensor) -> bool:
    rows = x.numel() // max(x.shape[-1], 1)
    computed = x.dtype is torch.float32 or bfloat16.fast_bfloat16()
    return computed and rows >= rule.rows and weight.numel() >= min(rule.large, rule.work / max(rows, 1))


def _by_pytorch(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Multiply by PyTorch: few rows panel by panel, emulated bfloat16 in float32."""
    if not x.is_cpu:
        return linear(x, weight, bias)
    if in_panels(x, weight):
        return by_panels(x, weight, bias)
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else x.dtype
    if dtype is not torch.bfloat16 or torch.compiler.is_compiling() or bfloat16.fast_bfloat16():
        return linear(x, weight, bias)
    if x.dtype is weight.dtype is dtype and x.numel() < MANY * x.shape[-1] and not torch.is_grad_enabled():
        return linear(x, weight, bias)  # a matrix that is read once is not worth a copy in float32
    with torch.autocast("cpu", enabled=False):
        if x.dtype is weight.dtype is torch.bfloat16:
            return bfloat16.in_float32(x, weight, bias)
        return linear(x.float(), weight.float(), None if bias is None else bias.float())


@functools.cache
def chosen() -> str:
    """Give the name of the rule in `RULES` that is in force, from `ZOO_PRODUCTS` or the processor.

    Raises:
        ConfigError: If the variable is neither `auto` nor one of `RULES`.
    """
    asked = os.environ.get(VARIABLE, "auto") or "auto"
    if asked not in ("auto", *RULES):
        raise ConfigError(f"{VARIABLE}={asked!r} is not one of auto, {', '.join(RULES)}")
    return of_processor() if asked == "auto" else asked


def of_processor() -> str:
    """Give the name of the rule for this processor; `mkl` where none was measured."""
    can = torch.cpu.get_capabilities()
    maker = "amd" if can.get("sse4a") else "intel"
    width = "avx512" if can.get("avx512_f") else "avx2" if can.get("avx2") else ""
    if maker == "amd" and can.get("avx512_bf16") and not can.get("avx_vnni"):
        width = "zen4"  # units of 256 bits: no more float32 operations by AVX-512 than by AVX2
    name = f"{maker}-{width}"
    return name if can.get("architecture") == "x86_64" and name in RULES else "mkl"
