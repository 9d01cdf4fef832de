"""`FrameStem`: from sounds to `Tokens`, a vector every 40 ms.

Axes: b sounds, t samples, n frames, m bands, d channels.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core import (
    Chain,
    ConfigError,
    InputError,
    Lengths,
    Pointwise,
    Positioned,
    Tokens,
    check_tensor,
    position_encoding,
    stream_of,
    values_known,
)
from zoo.plugins.shared.audio.config import TOKEN, SoundConfig
from zoo.plugins.shared.audio.feature_norm import NORMS, norm_of, stream_of_norm
from zoo.plugins.shared.audio.lengths import cleared, quartered
from zoo.plugins.shared.audio.log_mel import LogMel
from zoo.plugins.shared.audio.spec_augment import masks
from zoo.plugins.shared.audio.stems.subsample import Subsample


class FrameStem(nn.Module):
    """Give a vector for every 40 ms of a sound: log-mel features, normed, and two convolutions.

    Args:
        config: its `dim`, `bands`, `normalise`, `spec_augment`, `window`, `position` and `dropout`; positions inside
            attention add nothing here.
        subsample: makes what gives one vector for four frames from `(bands, dim, ahead=)`.
        ahead: whether a vector reads up to 3 frames that come later.

    Raises:
        ConfigError: If a name is unknown, or positions are learned, since sounds have no greatest length.
    """

    spacing = (TOKEN / 1000, "s")
    """From vector to vector."""

    def __init__(
        self, config: SoundConfig, *, subsample: Callable[..., nn.Module] = Subsample, ahead: bool = True
    ) -> None:
        super().__init__()
        if config.position == "learned":
            raise ConfigError("position='learned': sounds have no greatest length; sinusoidal or rotary have none")
        self.features = LogMel(config.bands)
        self.normalise = norm_of(config.normalise)
        self.augment: nn.Module | None = masks(config.spec_augment)
        self.subsample = subsample(config.bands, config.dim, ahead=ahead)
        self.pattern = config.pattern
        self.position: Any = position_encoding(config.position, config.dim, (1,))
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, sounds: Tensor, lengths: Tensor | None = None) -> Tokens:
        """Give the vectors.

        Args:
            sounds: samples (b, t) at 16 kHz, in -1 … 1, or features (b, n, m) as `LogMel` gives them; what lies behind
                the length of a sound is not read.
            lengths: samples, or frames, that each sound has; all if None.

        Raises:
            InputError: If shape, dtype, lengths or values do not fit, or a sound is shorter than a frame.
        """
        self.check(sounds, lengths)
        x, count = sounds if sounds.dtype is torch.float64 else sounds.float(), lengths
        if sounds.ndim == 2:
            x = self.features(cleared(x, lengths))
            count = None if lengths is None else self.features.count(lengths)
        x = NORMS[self.normalise](cleared(x, count), count)
        if self.training and self.augment is not None:
            x = self.augment(x, count)
        x, count = self.subsample(x.to(next(self.subsample.parameters()).dtype), count)
        if self.position is not None:
            x = x + self.position((x.shape[1],)).to(x.dtype)
        return Tokens(self.dropout(x), self.pattern, None if count is None else Lengths(count))

    def precomputed(self, sounds: Tensor, lengths: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
        """Give the inputs of an exported program: log-mel features and how many frames each sound has, then others."""
        return self.features(cleared(sounds.float(), lengths)), self.features.count(lengths), *others

    def stream(self) -> Chain:
        """Give the stages that make vectors of samples as they come: frames, their norm, convolutions, positions.

        Raises:
            ConfigError: If the norm, or what subsamples, has to see the whole sound.
        """
        dtype = next(self.subsample.parameters()).dtype
        cast = Pointwise(lambda x: x.to(dtype))
        stages = [self.features.stream(), stream_of_norm(self.normalise), cast, stream_of(self.subsample)]
        return Chain(stages if self.position is None else [*stages, Positioned(self.placed)])

    def placed(self, x: Float[Tensor, "b n d"], first: int) -> Float[Tensor, "b n d"]:
        """Add their positions to vectors that stand at `first` and behind it."""
        assert self.position is not None
        return x + self.position.at(first + torch.arange(x.shape[1], device=x.device)).to(x.dtype)

    def count(self, samples: Int[Tensor, " b"]) -> Int[Tensor, " b"]:
        """Count the vectors of sounds of so many samples."""
        return quartered(self.features.count(samples))

    def check(self, sounds: Tensor, lengths: Tensor | None = None) -> None:
        """Refuse what are no sounds, or not long enough; see `forward`."""
        check_tensor(sounds, "sounds")
        shape, bands = tuple(sounds.shape), self.features.bands
        wanted = f"samples (batch, time), nor features (batch, frames, {bands})"
        if sounds.ndim not in (2, 3) or (sounds.ndim == 3 and shape[2] != bands):
            hint = "; one sound needs a batch axis: sound[None]" if sounds.ndim == 1 else ""
            raise InputError(f"sounds of shape {shape} are neither {wanted}{hint}")
        if not sounds.is_floating_point():
            raise InputError(
                f"sounds are {sounds.dtype}: samples lie in -1 … 1, zoo.preprocess(name)(sound) makes them"
            )
        if not shape[0]:
            raise InputError(f"a batch of 0 sounds, shape {shape}")
        what, least = ("samples", self.features.length) if sounds.ndim == 2 else ("frames", 1)
        if shape[1] < least:
            raise InputError(f"sounds of {shape[1]} {what}, shape {shape}: {_needed(least)}")
        if lengths is not None:
            check_lengths(lengths, shape, least, what)
        check_values(sounds, lengths)


def check_lengths(lengths: Tensor, shape: Sequence[int], least: int, what: str) -> None:
    """Refuse lengths that cannot be those of sounds.

    Args:
        lengths: one for each sound.
        shape: of the sounds.
        least: that a sound needs.
        what: is counted, `samples` or `frames`.

    Raises:
        InputError: If one does not fit; the text names the first.
    """
    if lengths.shape != tuple(shape[:1]) or lengths.is_floating_point() or lengths.dtype is torch.bool:
        raise InputError(
            f"lengths of shape {tuple(lengths.shape)} and {lengths.dtype} for {shape[0]} sounds: one whole number each"
        )
    if not values_known(lengths):
        return
    bad = ((lengths > shape[1]) | (lengths < least)).nonzero()
    if len(bad):
        row = int(bad[0, 0])
        length = int(lengths[row])
        why = f"there are {shape[1]}" if length > shape[1] else _needed(least)
        raise InputError(f"sound {row} of {length} {what}: {why}")


def _needed(least: int) -> str:
    return "a sound has at least one frame" + (f", which is {least} samples, 25 ms" if least > 1 else "")


def check_values(sounds: Tensor, lengths: Tensor | None = None, first: int = 0) -> None:
    """Refuse what is not finite.

    Args:
        sounds: samples or features.
        lengths: of each sound; all if None.
        first: samples, or frames, that came before.

    Raises:
        InputError: If there is such a value; the text names the first.
    """
    if not values_known(sounds):
        return
    bad = ~torch.isfinite(cleared(sounds, lengths))
    if bool(bad.any()):
        place = bad.nonzero()[0].tolist()
        raise InputError(
            f"{sounds[tuple(place)].item()} at place {first + place[1]} of sound {place[0]}: sounds are finite"
        )
