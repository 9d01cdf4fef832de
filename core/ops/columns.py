"""Products of up to four rows with a large matrix, as the matrix times these rows turned into columns."""

import torch
from jaxtyping import Float
from torch import Tensor

from zoo.core.ops.onednn import plain

LARGE = 2**16
"""Numbers of a matrix from which on its transfer from memory is what counts."""


def in_columns(x: Tensor, weight: Tensor, bias: Tensor | None, most: int) -> bool:
    """Tell whether vectors may be columns: float32, no gradient, a large matrix with at least as many rows as columns.

    Args:
        x: vectors.
        weight: a matrix, one row for each channel of the answer.
        bias: of the answer.
        most: vectors, at most.
    """
    return (
        x.dtype is torch.float32
        and plain(x, weight, bias)
        and x.numel() <= most * x.shape[-1]
        and len(weight) >= weight.shape[1]
        and weight.numel() >= LARGE
        and weight.is_contiguous()
        and not (torch.is_grad_enabled() and any(y is not None and y.requires_grad for y in (x, weight, bias)))
    )


def by_columns(x: Float[Tensor, "*n d"], weight: Float[Tensor, "e d"], bias: Tensor | None) -> Float[Tensor, "*n e"]:
    """Give `x @ weight.T + bias`; a row alone is taken twice, as MKL takes longer for one column than for two.

    Over `linear` on an AMD EPYC (Zen 4), torch 2.14.1, 768 to 3,072, one thread and two: one row 0.70 and 0.63, two
    0.40 and 0.23, four 0.64 and 0.34; oneDNN 0.94 and 0.64, 0.58 and 0.36, 0.86 and 0.47. From 3,072 to 768 it loses.
    """
    rows = x.reshape(-1, x.shape[-1])
    n = len(rows)
    y = torch.mm(weight, (torch.cat([rows, rows]) if n == 1 else rows).T).T[:n].contiguous()
    if bias is not None:
        y += bias
    return y.view(*x.shape[:-1], len(weight))
