"""Absolute position encodings, added to the vectors: learned and sinusoidal.

They are called with the shape of a line or grid and give one vector for each prefix token and point, (n, d), or with
`at` for any positions on a line.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import interpolate, pad

from zoo.core.errors import ConfigError, InputError
from zoo.core.ops.tensor_check import values_known
from zoo.core.positions.attention_position import IN_ATTENTION
from zoo.core.positions.floater import Floater, Recurrent
from zoo.core.scoring.normalizers import upcast

ADDED = ("learned", "sinusoidal", "floater", "recurrent", "none")
"""Names of what is added to the vectors."""


def position_encoding(name: str, dim: int, shape: Sequence[int], prefix: int = 0) -> nn.Module | None:
    """Make what is added to the vectors, by name; None for `none` and for names that act inside attention.

    Args:
        name: one of `ADDED` or `IN_ATTENTION`.
        dim: channels.
        shape: length of each axis of the grid, tokens.
        prefix: tokens before the grid, such as a class token.

    Raises:
        ConfigError: If the name is unknown.
    """
    if name == "learned":
        return Learned(dim, shape, prefix)
    if name == "sinusoidal":
        return Sinusoidal(dim, prefix)
    if name == "floater":
        return Floater(dim, prefix)
    if name == "recurrent":
        return Recurrent(dim, prefix)
    if name == "none" or name in IN_ATTENTION:
        return None
    raise ConfigError(f"position={name!r} is not one of {', '.join(ADDED + IN_ATTENTION)}")


class Learned(nn.Module):
    """One learned vector for each prefix token and grid point; a grid of another size is interpolated (bicubic).

    arXiv:2010.11929 sec. 3.2 for grids; a line does not interpolate: it is cut, and never longer than it was trained.

    Args:
        dim: channels.
        shape: length of each axis, tokens; one axis or two.
        prefix: tokens before the grid.
    """

    def __init__(self, dim: int, shape: Sequence[int], prefix: int = 0) -> None:
        super().__init__()
        self.shape = tuple(shape)
        self.prefix = prefix
        self.table = nn.Parameter(torch.randn(prefix + math.prod(shape), dim) * 0.02)

    def forward(self, shape: Sequence[int]) -> Float[Tensor, "n d"]:
        """Give the vectors for a grid of this shape."""
        if tuple(shape) == self.shape:
            return self.table
        if len(shape) != len(self.shape):
            raise InputError(f"a grid of {len(shape)} axes given to positions of {len(self.shape)}")
        if len(shape) == 1:
            if shape[0] > self.shape[0]:
                raise InputError(f"length {shape[0]} is more than the {self.shape[0]} positions that were learned")
            return self.table[: self.prefix + shape[0]]
        prefix, grid = self.table.split([self.prefix, len(self.table) - self.prefix])
        picture = upcast(grid.unflatten(0, self.shape).permute(2, 0, 1)[None])
        resized = interpolate(picture, size=tuple(shape), mode="bicubic", antialias=True)
        return torch.cat([prefix, resized[0].flatten(1).T.to(prefix.dtype)])

    def at(self, position: Int[Tensor, "*b n"]) -> Float[Tensor, "*b n d"]:
        """Give the vectors of positions on the line, prefix tokens counted; before 0 stands padding, which gets 0.

        Raises:
            InputError: If a position was not learned.
        """
        if values_known(position) and position.numel() and int(position.max()) >= len(self.table):
            raise InputError(f"position {int(position.max())} is not one of the {len(self.table)} that were learned")
        return self.table[position.clamp(min=0)].masked_fill((position < 0)[..., None], 0)


class Sinusoidal(nn.Module):
    """Sines and cosines of geometric wavelengths, arXiv:1706.03762 sec. 3.5; a grid shares the channels among its axes.

    Args:
        dim: channels; channels that do not divide evenly stay 0.
        prefix: tokens before the grid; their vectors are 0.
    """

    def __init__(self, dim: int, prefix: int = 0) -> None:
        super().__init__()
        self.dim = dim
        self.prefix = prefix
        self.like: Tensor
        self.register_buffer("like", torch.empty(0), persistent=False)  # tells device and dtype

    def forward(self, shape: Sequence[int]) -> Float[Tensor, "n d"]:
        """Give the vectors for a grid of this shape."""
        share = self.dim // len(shape) // 2 * 2
        axes = [torch.arange(n, device=self.like.device) for n in shape]
        grids = torch.meshgrid(*axes, indexing="ij") if len(axes) > 1 else axes  # which would fix an exported length
        waves = torch.cat([sinusoid(grid.flatten(), share, self.like.dtype) for grid in grids], dim=1)
        return pad(waves, (0, self.dim - waves.shape[1], self.prefix, 0))

    def at(self, position: Int[Tensor, "*b n"]) -> Float[Tensor, "*b n d"]:
        """Give the vectors of positions on the line, prefix tokens counted; theirs, and those before 0, are 0."""
        point = position - self.prefix
        waves = sinusoid(point.flatten(), self.dim // 2 * 2, self.like.dtype)
        waves = waves.masked_fill((point.flatten() < 0)[:, None], 0)
        y = waves.new_zeros(point.numel(), self.dim)
        y[:, : waves.shape[1]] = waves
        return y.view(*point.shape, self.dim)


def sinusoid(position: Tensor, dim: int, dtype: torch.dtype = torch.float32) -> Float[Tensor, "n d"]:
    """Give sin and cos, in turn, of position / 10000^(2i/dim); positions are absolute, fractions allowed.

    Args:
        position: where the vectors stand.
        dim: channels.
        dtype: of the result; halves are computed in float32.
    """
    precise = torch.float64 if dtype is torch.float64 else torch.float32
    steps = torch.arange(0, dim, 2, device=position.device, dtype=precise)
    angle = position[:, None] * torch.exp(steps * (-math.log(10000.0) / max(dim, 1)))
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).to(dtype)
