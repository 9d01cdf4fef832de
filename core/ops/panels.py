"""Products of a few rows with a large matrix, panel by panel."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import linear

FEW = (4, 12)
"""Rows that are multiplied panel by panel."""
PANEL = 32
LARGE = 2**18
"""Numbers of a matrix from which on its transfer from memory is what counts."""


def in_panels(x: Tensor, weight: Tensor) -> bool:
    """Tell whether a few rows are multiplied faster panel by panel: plain float32, no gradient, and a large matrix."""
    return (
        not torch.compiler.is_compiling()  # before the rows are counted: a program is for any number of them
        and FEW[0] <= x.numel() // max(x.shape[-1], 1) <= FEW[1]
        and x.dtype is weight.dtype is torch.float32
        and weight.numel() >= LARGE
        and weight.is_contiguous()
        and not torch.is_autocast_enabled("cpu")
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
