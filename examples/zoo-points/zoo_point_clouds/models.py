"""Models of point clouds: self-attention, and a network of single points."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from zoo import InputError
from zoo.core import Attention, Encoder, Lengths, Mlp, Model, Stack, Tokens, head


class PointStem(nn.Module):
    """Make a vector of each point, seen from the centre of its cloud and at its scale; padding stays unread.

    Args:
        dim: channels.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.project = nn.Linear(3, dim)
        self.mlp = Mlp(dim, dim)

    def forward(self, points: Tensor, lengths: Tensor) -> Tokens:
        """Read points (batch, points, 3), of which each cloud has its own number."""
        if points.ndim != 3 or points.shape[-1] != 3:
            raise InputError(f"points of shape {tuple(points.shape)}, not (batch, points, 3)")
        tokens = Tokens(points, keys=Lengths(lengths)).without_padding()
        count = lengths.clamp(min=1)[:, None, None].to(points.dtype)
        centred = tokens.with_x(tokens.x - tokens.x.sum(1, keepdim=True) / count).without_padding()
        radius = centred.x.norm(dim=-1).amax(1)[:, None, None]
        return centred.with_x(self.mlp(self.project(centred.x / radius.clamp(min=1e-6))))


class PointBlock(nn.Module):
    """x + mlp(norm(x)): what a PointNet does to each point."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm, self.mlp = nn.LayerNorm(dim), Mlp(dim, 2 * dim)

    def forward(self, tokens: Tokens) -> Tokens:
        """Change each point by itself."""
        return tokens.with_x(tokens.x + self.mlp(self.norm(tokens.x)))


def cloud_transformer(
    num_classes: int,
    dim: int,
    depth: int,
    num_heads: int = 4,
    task: str = "classify",
    attention: Callable[[int, int], nn.Module] = Attention,
) -> Model:
    """Build self-attention over points without positions, arXiv:1810.00825 sec. 3, with the largest of each channel."""
    encoder = Encoder(dim, depth, num_heads, 2 * dim, attention=attention)
    return Model(PointStem(dim), encoder, head(task, dim, num_classes, pool="max"))


def cloud_net(num_classes: int, dim: int, depth: int, task: str = "classify") -> Model:
    """Build a PointNet, arXiv:1612.00593 sec. 4.2, without its alignment networks."""
    blocks = Stack([PointBlock(dim) for _ in range(depth)], nn.LayerNorm(dim))
    return Model(PointStem(dim), blocks, head(task, dim, num_classes, pool="max"))


def example(config: Mapping[str, Any], batch_size: int, seed: int) -> tuple[Tensor, Tensor]:
    """Draw clouds of several sizes."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(4, 17, (batch_size,), generator=generator)
    return torch.randn(batch_size, 16, 3, generator=generator), lengths
