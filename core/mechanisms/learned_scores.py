"""Attention with a learned score: bilinear (arXiv:1508.04025 eq. 8) or additive (arXiv:1409.0473 app. A.1.2).

Axes: h heads, d channels of a head.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from zoo.core.layers.attention import Attention
from zoo.core.scoring.scores import Additive, General


class GeneralScore(nn.Module):
    """Learn the matrices of `General`; at first they are those of the scaled dot product.

    Args:
        num_heads: heads.
        head_dim: channels of a head.
    """

    def __init__(self, num_heads: int, head_dim: int) -> None:
        super().__init__()
        self.w = nn.Parameter((torch.eye(head_dim) / head_dim**0.5).repeat(num_heads, 1, 1))

    def forward(self) -> General:
        """Give the score."""
        return General(self.w)


class AdditiveScore(nn.Module):
    """Learn the matrices and the vector of `Additive`, with as many channels inside as a head has.

    Args:
        num_heads: heads.
        head_dim: channels of a head.
    """

    def __init__(self, num_heads: int, head_dim: int) -> None:
        super().__init__()
        shape, deviation = (num_heads, head_dim, head_dim), head_dim**-0.5
        self.w1, self.w2 = (nn.Parameter(torch.randn(shape) * deviation) for _ in range(2))
        self.v = nn.Parameter(torch.randn(shape[:2]) * deviation)

    def forward(self) -> Additive:
        """Give the score."""
        return Additive(self.w1, self.w2, self.v)


def general() -> Callable[..., Attention]:
    """Make what builds an `Attention` with a `GeneralScore`, for `attention="general"`."""
    return _with(GeneralScore)


def additive() -> Callable[..., Attention]:
    """Make what builds an `Attention` with an `AdditiveScore`, for `attention="additive"`."""
    return _with(AdditiveScore)


def _with(score: Callable[[int, int], nn.Module]) -> Callable[..., Attention]:
    def make(dim: int, num_heads: int, **options: Any) -> Attention:
        heads = max(num_heads, 1)  # fewer are refused by `Attention`
        return Attention(dim, num_heads, score=score(heads, options.get("head_dim") or dim // heads), **options)

    return make
