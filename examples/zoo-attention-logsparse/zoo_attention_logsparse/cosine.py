"""Cosine attention: the score is the cosine of query and key times a learned number, arXiv:2111.09883 sec. 3.3."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from zoo import ConfigError
from zoo.core import Attention

LARGEST = 100.0
"""The scale is clamped here, as in arXiv:2111.09883."""


class UnitLength(nn.Module):
    """Norm the vectors of each head to length 1: (batch, length, heads, channels) to the same."""

    def forward(self, x: Tensor) -> Tensor:
        """Divide by the length."""
        return normalize(x, dim=-1)


class ScaledUnitLength(nn.Module):
    """Norm the vectors of each head to a learned length.

    Args:
        num_heads: heads.
        scale: length at first.
    """

    def __init__(self, num_heads: int, scale: float) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.full((num_heads, 1), math.log(scale)))

    def forward(self, x: Tensor) -> Tensor:
        """Divide by the length and multiply by the head's number."""
        return normalize(x, dim=-1) * self.log_scale.clamp(max=math.log(LARGEST)).exp()


def cosine(scale: str = "10") -> Callable[[int, int], nn.Module]:
    """Read `cosine` or `cosine:SCALE`, and give what makes the layer."""
    try:
        start = float(scale)
    except ValueError:
        start = 0.0
    if not 0 < start <= LARGEST:
        raise ConfigError(f"cosine:{scale}: the scale is a number above 0, {LARGEST:.0f} at most")

    def make(dim: int, num_heads: int) -> nn.Module:
        return Attention(dim, num_heads, score="dot", q_norm=ScaledUnitLength(num_heads, start), k_norm=UnitLength())

    return make
