"""Rotary position encoding (RoPE): queries and keys are rotated, so their product depends on the offset only.

Axes: b rows (or 1), n vectors, h heads, d head size.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.errors import ConfigError
from zoo.core.positions.attention_position import AttentionPosition


class Rotary(AttentionPosition):
    """Turn pairs of channels by angles that grow with the position, arXiv:2104.09864 sec. 3.2.

    Channel c is paired with channel c + d/2 ("rotate half", as in GPT-NeoX and Llama), not with its neighbour as in the
    paper: the same up to an order of the channels, and weights of those models fit.

    Args:
        head_dim: channels of a head, even.
        base: the longest wavelength is about 2π times this, positions.
        channels: how many channels turn, the first ones; all if None (GPT-NeoX turns a quarter).

    Raises:
        ConfigError: If the channels that turn are odd in number or more than there are.
    """

    acts_on = "vectors"

    def __init__(self, head_dim: int, base: float = 10000.0, channels: int | None = None) -> None:
        super().__init__()
        self.channels = head_dim if channels is None else channels
        if not 0 < self.channels <= head_dim or self.channels % 2:
            raise ConfigError(f"rotary positions turn pairs: {self.channels} channels of head_dim={head_dim}")
        self.base = base

    def turn(
        self, position: Int[Tensor, "#b n"], *vectors: Float[Tensor, "b n _ d"]
    ) -> tuple[Float[Tensor, "b n _ d"], ...]:
        # angles in full precision whatever the vectors' dtype: bfloat16 knows no position above 256 exactly
        dtype = torch.float64 if vectors[0].dtype is torch.float64 else torch.float32
        steps = torch.arange(0, self.channels, 2, device=position.device, dtype=dtype)
        angle = position[..., None] * self.base ** (-steps / self.channels)
        cos, sin = angle.cos()[:, :, None], angle.sin()[:, :, None]
        return tuple(turned(x, cos, sin) for x in vectors)

    def extra_repr(self) -> str:
        """Return the options that `repr` shows."""
        return f"channels={self.channels}, base={self.base:g}"


def turned(
    x: Float[Tensor, "b n h d"], cos: Float[Tensor, "#b n 1 half"], sin: Float[Tensor, "#b n 1 half"]
) -> Float[Tensor, "b n h d"]:
    """Turn channels c and c + half by the angle of c; channels behind both halves stay."""
    half = cos.shape[-1]
    a, b, rest = x.split([half, half, x.shape[-1] - 2 * half], dim=-1)
    return torch.cat([(a * cos - b * sin).to(x.dtype), (b * cos + a * sin).to(x.dtype), rest], dim=-1)
