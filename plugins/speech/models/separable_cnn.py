"""The depthwise-separable CNN for keyword spotting (DS-CNN), arXiv:1711.07128; sizes are in `plugin.py`.

Axes: b sounds, n frames or vectors, m bands, f bands behind the first convolution, c channels.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from zoo.core import ConfigError, Model, Stack, Tokens, configured, head, relu
from zoo.plugins.shared.audio.config import SoundConfig
from zoo.plugins.shared.audio.lengths import cleared, quartered, valid_mask
from zoo.plugins.shared.audio.stems.frame_stem import FrameStem

FRAMES = 10
"""That the first convolution reads for each vector: those of its own 40 ms, and 3 on each side."""
BANDS, BAND_STEP = 16, 8
"""That it reads, of 40, and from one place to the next: 0.4 and 0.2 of all, as the paper's 4 and 2 of 10."""


class PlaneNorm(nn.BatchNorm1d):
    """Batch norm over time and bands, whose statistics exclude padding.

    As a matrix of places, not in two dimensions: there the gradient of PyTorch 2.14 is wrong on a CPU where the places
    that are there were picked out of channels-last memory.

    Args:
        num_features: channels.
    """

    def forward(self, input: Float[Tensor, "b c n f"], valid: Bool[Tensor, "b n"] | None = None) -> Tensor:
        """Norm each channel; in training, what is not there gives 0."""
        x = input.permute(0, 2, 3, 1)  # b n f c
        if valid is None or not self.training:
            y = super().forward(x.flatten(0, 2)).view(x.shape)
        else:
            there = x[valid]
            normed = super().forward(there.flatten(0, 1)).view_as(there)
            y = torch.zeros_like(x).index_put((valid,), normed.to(x.dtype))
        return y.permute(0, 3, 1, 2)


class PlaneStem(nn.Module):
    """The first convolution, over 100 ms and two fifths of the bands, with batch norm and ReLU.

    Args:
        bands: features of a frame.
        dim: channels of all bands that are left, together.
        ahead: taken for `FrameStem`; a vector always reads 3 frames that come later.

    Raises:
        ConfigError: If no band is left.
    """

    def __init__(self, bands: int, dim: int, *, ahead: bool = True) -> None:
        super().__init__()
        if bands < BAND_STEP:
            raise ConfigError(f"bands={bands}: the first convolution leaves none of fewer than {BAND_STEP}")
        channels = dim // bands_left(bands)
        self.conv = nn.Conv2d(1, channels, (FRAMES, BANDS), stride=(4, BAND_STEP), bias=False)
        self.norm = PlaneNorm(channels)

    def forward(
        self, x: Float[Tensor, "b n m"], count: Int[Tensor, " b"] | None = None
    ) -> tuple[Float[Tensor, "b q fc"], Int[Tensor, " b"] | None]:
        """Return the vectors, the channels of all bands side by side, and the number of valid ones of each row.

        Args:
            x: features.
            count: frames that are there; all if None.
        """
        bands = (BANDS - BAND_STEP) // 2
        y = self.conv(pad(cleared(x, count), (bands, bands, 3, FRAMES - 4))[:, None])
        count = None if count is None else quartered(count)
        return as_vectors(relu(self.norm(y, None if count is None else valid_mask(count, y.shape[2], y.device)))), count


class SeparableBlock(nn.Module):
    """A 3x3 convolution of each channel alone, then one of all channels, each with batch norm and ReLU.

    Args:
        channels: of each band.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.norm1 = PlaneNorm(channels)
        self.pointwise = nn.Conv2d(channels, channels, 1, bias=False)
        self.norm2 = PlaneNorm(channels)

    def forward(self, tokens: Tokens) -> Tokens:
        """Give the same set with new vectors."""
        valid = tokens.valid()
        x = as_plane(tokens.without_padding().x, self.pointwise.in_channels)
        x = relu(self.norm1(self.depthwise(x), valid))
        return tokens.with_x(as_vectors(relu(self.norm2(self.pointwise(x), valid))))


class MeanOfBands(nn.Module):
    """The mean over the bands, of each channel.

    Args:
        channels: of each band.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels

    def forward(self, x: Float[Tensor, "b n fc"]) -> Float[Tensor, "b n c"]:
        """Give a vector of one channel each."""
        return x.unflatten(2, (-1, self.channels)).mean(2)


@dataclass(frozen=True, kw_only=True)
class SeparableConfig:
    """Sizes and options of `separable_cnn`.

    Args:
        bands: log-mel features of a frame.
        channels: of each band.
        depth: separable blocks.
        num_classes: labels of `classify` and `tag`; 0 for features.
        task: `classify` (a label for the sound, from the mean), `tag` (a label for every vector) or `features`.
        normalise: input by the mean and variance of the `utterance`, or `none`.
        spec_augment: as in `SoundConfig`.
        dropout: probability in [0, 1), in front of the blocks.
    """

    bands: int = 40
    channels: int = 64
    depth: int = 4
    num_classes: int = 0
    task: str = "classify"
    normalise: str = "utterance"
    spec_augment: Sequence[int] = ()
    dropout: float = 0.0


@configured(SeparableConfig)
def separable_cnn(config: SeparableConfig) -> Model:
    """Compose log-mel frames, a convolution, depthwise-separable blocks and a head: DS-CNN of arXiv:1711.07128.

    The paper reads ten cepstral coefficients every 20 ms; here it is log-mel bands every 10 ms, as in the other models
    of sounds, and kernel and stride of the first convolution are those of the paper in shares of the bands.

    Args:
        config: its fields are the keywords, see `SeparableConfig`.

    Raises:
        ConfigError: If a value is not one of those there are.
    """
    if config.depth < 1 or config.channels < 1:
        raise ConfigError(f"depth={config.depth}, channels={config.channels}: at least 1 of each")
    frames = SoundConfig(
        bands=config.bands,
        dim=config.channels * bands_left(config.bands),
        position="none",
        window="full",
        normalise=config.normalise,
        spec_augment=config.spec_augment,
        dropout=config.dropout,
    )
    encoder = Stack((SeparableBlock(config.channels) for _ in range(config.depth)), MeanOfBands(config.channels))
    answer = head(config.task, config.channels, config.num_classes, pool="mean")
    return Model(FrameStem(frames, subsample=PlaneStem), encoder, answer)


def bands_left(bands: int) -> int:
    """Count the bands behind the first convolution."""
    return max(1, bands // BAND_STEP)


def as_plane(x: Float[Tensor, "b n fc"], channels: int) -> Float[Tensor, "b c n f"]:
    """Lay vectors out as time and bands, channels last in memory."""
    return x.unflatten(2, (-1, channels)).permute(0, 3, 1, 2)


def as_vectors(x: Float[Tensor, "b c n f"]) -> Float[Tensor, "b n fc"]:
    """Lay all that belongs to a time side by side: `as_plane` backwards."""
    return x.permute(0, 2, 3, 1).flatten(2)
