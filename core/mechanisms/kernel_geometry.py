"""Geometry of a convolution kernel on a grid: taps, stride and padding.

Axes: h taps, n queries, m keys (the padded grid).
"""

from dataclasses import dataclass
from math import isqrt

import torch
from jaxtyping import Int
from torch import Tensor, nn

from zoo.core.errors import ConfigError, InputError


@dataclass(frozen=True)
class Sweep:
    """Say how a kernel goes over a grid; pairs are (rows, columns), as in `nn.Conv2d`.

    Args:
        kernel: taps along each axis.
        padding: rings of tokens around the grid: (top, bottom, left, right).
        stride: from one query to the next.
        dilation: from one tap to the next.
        mode: what the tokens around the grid hold: `zeros`, `reflect`, `replicate` or `circular`.
    """

    kernel: tuple[int, int]
    padding: tuple[int, int, int, int]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    mode: str = "zeros"

    @classmethod
    def of(cls, conv: nn.Conv2d) -> "Sweep":
        """Read how a convolution goes over its image."""
        kernel, stride, dilation = ((x[0], x[1]) for x in (conv.kernel_size, conv.stride, conv.dilation))
        if conv.padding == "same":
            along = [
                (step * (taps - 1) // 2, -(-step * (taps - 1) // 2))
                for taps, step in zip(kernel, dilation, strict=True)
            ]
        elif isinstance(conv.padding, str):
            along = [(0, 0), (0, 0)]
        else:
            along = [(side, side) for side in conv.padding]
        return cls(kernel, (*along[0], *along[1]), stride, dilation, conv.padding_mode)

    @property
    def home(self) -> tuple[int, int]:
        """Give the row and column, in the first kernel, of the query: its middle."""
        return self.dilation[0] * (self.kernel[0] - 1) // 2, self.dilation[1] * (self.kernel[1] - 1) // 2

    def taps(self) -> Int[Tensor, "h 2"]:
        """Give the place of each tap beside the query, row by row."""
        steps = [torch.arange(taps) * step for taps, step in zip(self.kernel, self.dilation, strict=True)]
        return torch.cartesian_prod(*steps) - torch.tensor(self.home)

    def padded(self, grid: tuple[int, int]) -> tuple[int, int]:
        """Give the size of a grid with the tokens around it."""
        return grid[0] + sum(self.padding[:2]), grid[1] + sum(self.padding[2:])

    def places(self, grid: tuple[int, int], device: torch.device) -> tuple[Int[Tensor, "n 2"], Int[Tensor, "m 2"]]:
        """Give row and column of the queries and of the keys in the padded grid.

        Raises:
            InputError: If the kernel is larger than the padded grid.
        """
        full = self.padded(grid)
        last = [side - step * (taps - 1) for side, taps, step in zip(full, self.kernel, self.dilation, strict=True)]
        if min(last) < 1:
            raise InputError(f"a grid of {full[0]}x{full[1]}, padding included, is smaller than the kernel: {self}")
        first = [
            torch.arange(0, end, step, device=device) + home
            for end, step, home in zip(last, self.stride, self.home, strict=True)
        ]
        return torch.cartesian_prod(*first), torch.cartesian_prod(*(torch.arange(n, device=device) for n in full))


def square(num_heads: int) -> Sweep:
    """Make the sweep of a square kernel that gives as many vectors as it reads.

    Raises:
        ConfigError: If the number of heads is no square.
    """
    side = isqrt(max(num_heads, 0))
    if side < 1 or side**2 != num_heads:
        raise ConfigError(f"num_heads={num_heads} is no square: the heads look at the places of a square kernel")
    before, after = (side - 1) // 2, side // 2
    return Sweep((side, side), (before, after, before, after))
