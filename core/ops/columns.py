"""Products of up to four rows with a large matrix, as the matrix times these rows turned into columns."""

import torch
from jaxtyping import Float
from torch import Tensor

from zoo.core.ops.onednn import traced

LARGE = 2**16
"""Numbers of a matrix from which on its transfer from memory is what counts."""


def in_columns(x: Tensor, weight: Tensor, most: int) -> bool:
    """Tell whether rows may be columns: plain float32, no gradient, a large matrix, not wider than long.

    Args:
        x: vectors.
        weight: a matrix, one row for each channel of the answer.
        most: vectors, at most.
    """
    return (
        1 <= x.numel() // max(x.shape[-1], 1) <= most
        and x.is_cpu
        and x.dtype is weight.dtype is torch.float32
        and weight.numel() >= LARGE
        and len(weight) >= weight.shape[1]
        and weight.is_contiguous()
        and not torch.is_autocast_enabled("cpu")
        and not (torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad))
        and not traced()
    )


def by_columns(x: Float[Tensor, "*n d"], weight: Float[Tensor, "e d"], bias: Tensor | None) -> Float[Tensor, "*n e"]:
    """Give `x @ weight.T + bias`; a row alone is taken twice, as MKL takes longer for one column than for two.

    Over `linear` on an AMD EPYC (Zen 4), torch 2.14.1, 768 to 3,072, one thread and two: one row 0.75 and 0.44, two
    0.40 and 0.23, four 0.64 and 0.34; oneDNN 0.94 and 0.64, 0.58 and 0.36, 0.86 and 0.47. From 3,072 to 768 it loses.
    """
    rows = x.reshape(-1, x.shape[-1])
    n = len(rows)
    y = torch.mm(weight, (torch.cat([rows, rows]) if n == 1 else rows).T).T[:n].contiguous()
    if bias is not None:
        y += bias
    return y.view(*x.shape[:-1], len(weight))
