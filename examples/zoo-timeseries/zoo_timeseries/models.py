"""The models: a stem that makes vectors of a series; the rest is the zoo's."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from zoo.core import Attention, Encoder, InputError, Lengths, Model, Tokens, head


class WindowStem(nn.Module):
    """Make a vector of each step and its two neighbours; padding stays unread."""

    def __init__(self, channels: int, dim: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(channels, dim, kernel_size=3, padding=1)

    def forward(self, series: Tensor, lengths: Tensor) -> Tokens:
        """Read series (batch, steps, channels), of which each has its own length."""
        if series.ndim != 3 or series.shape[-1] != self.conv.in_channels:
            raise InputError(f"series of shape {tuple(series.shape)}, not (batch, steps, {self.conv.in_channels})")
        keys = Lengths(lengths)
        clean = Tokens(series, keys=keys).without_padding().x
        return Tokens(self.conv(clean.mT).mT, keys=keys)


class SeriesTransformer(Model):
    """Classify a series, or each of its steps."""

    def __init__(
        self,
        channels: int,
        dim: int,
        depth: int,
        num_heads: int,
        num_classes: int = 5,
        task: str = "classify",
        attention: Callable[[int, int], nn.Module] = Attention,
    ) -> None:
        encoder = Encoder(dim, depth, num_heads, 4 * dim, attention=attention)
        super().__init__(WindowStem(channels, dim), encoder, head(task, dim, num_classes, pool="mean"))


def example(config: Mapping[str, Any], batch_size: int, seed: int) -> tuple[Tensor, Tensor]:
    """Make noise of several lengths."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(4, 13, (batch_size,), generator=generator)
    return torch.randn(batch_size, 12, config["channels"], generator=generator), lengths
