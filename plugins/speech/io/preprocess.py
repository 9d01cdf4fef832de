"""From sounds to the input of a model: `Preprocess` gives samples of one channel at 16 kHz, in a batch with lengths.

Axes: b sounds, t samples, c channels.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from io import BytesIO
from os import PathLike, fspath
from typing import Any, SupportsIndex

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from zoo import InputError
from zoo.data import Skipped, read_each
from zoo.plugins.shared.audio.log_mel import EMPHASIS, LOWEST, LogMel
from zoo.plugins.speech.io.audio_files import measure, read
from zoo.plugins.speech.io.speed_perturbation import change_speed
from zoo.plugins.speech.sources import SOUNDFILE, TORCHAUDIO
from zoo.registry import require

RATE = 16_000
"""Samples in a second that the models read."""
RATES = (1_000, 768_000)
"""What is recorded; other numbers are mistakes."""
FINEST = 1000
"""The largest denominator of a ratio of rates: one that nobody records at is taken for another within 0.06 %."""
MOST_CHANNELS = 32


class Preprocess:
    """Turn a sound, or a list of sounds, into `(samples, lengths)`, which every model of speech takes.

    A sound is a file; or an array or tensor of samples, (t,), (t, c) or (c, t), in -1 … 1 or whole numbers; or such a
    one and its rate, `(samples, rate)`. Several channels become their mean.

    Args:
        config: of the model; every model reads the same.
        train: play each sound at another speed, drawn by torch's generator, if a frame is left of it.

    Raises:
        MissingLibraryError: If soundfile or torchaudio is not installed.
    """

    reads_files = True
    input_kind = "sounds"

    def __init__(self, config: Mapping[str, Any] | None = None, train: bool = False) -> None:
        require("preprocessing sounds", (SOUNDFILE, TORCHAUDIO))
        self.train = train
        mel = LogMel(rate=RATE)
        self.bands, self.shortest = (config or {}).get("bands", mel.bands), mel.length
        self.skipped: list[Skipped] = []
        """What the last call left out."""

    def __call__(
        self, sounds: Any, rate: SupportsIndex | None = None, skip: bool = False
    ) -> tuple[Float[Tensor, "b t"], Int[Tensor, " b"]]:
        """Give samples, with 0 behind the shorter sounds, and how many each has; one sound makes a batch of one.

        Args:
            sounds: one or a list.
            rate: samples in a second of arrays without one, 16,000 if None; a file's own must agree.
            skip: leave out what cannot be read, with a warning that counts and names it; `skipped` has the reasons.

        Raises:
            InputError: If a sound cannot be read and is not skipped, or none is left.
        """
        several = isinstance(sounds, list) or (isinstance(sounds, tuple) and not is_rated(sounds))
        self.skipped = []
        skipped = self.skipped if skip else None
        read = partial(self.samples, rate=rate)
        kept = read_each(sounds, read, name_of, "sound", several=several, skipped=skipped)
        return pad_sequence(kept, batch_first=True), torch.tensor([len(samples) for samples in kept])

    def samples(self, sound: Any, rate: SupportsIndex | None = None) -> Float[Tensor, " t"]:
        """Give the samples of one sound, at 16 kHz.

        Args:
            sound: a file, samples, or both with their rate.
            rate: samples in a second, where the sound does not tell it.

        Raises:
            InputError: If it cannot be read, is shorter than a frame, or not finite.
        """
        raw, rate = opened(sound, rate)
        bad = ~torch.isfinite(raw)
        if bool(bad.any()):
            place = int(bad.nonzero()[0, 0])
            raise InputError(f"{name_of(sound)}: {raw[place].item()} at sample {place}: samples are finite")
        mono = resampled(raw, rate)
        if len(mono) < self.shortest:
            raise too_short(name_of(sound), len(raw), rate)
        changed = change_speed(mono, RATE) if self.train else mono
        return mono if len(changed) < self.shortest else changed

    @staticmethod
    def amount(sound: str | PathLike[str] | BytesIO) -> tuple[int, str]:
        """Count the samples of a file, as its header tells, or those it becomes at 16 kHz if these are more.

        Raises:
            InputError: If this is no sound, or its end is missing.
        """
        frames, rate = measure(sound)
        return math.ceil(frames * max(Fraction(1), ratio_of(checked_rate(rate)))), "samples"

    def portable(self) -> dict[str, Any]:
        """Describe the steps from samples to features as JSON values, for exported models."""
        mel = LogMel(self.bands, RATE)
        sizes = {"rate": RATE, "bands": mel.bands, "length": mel.length, "step": mel.step}
        return {"kind": "sound", **sizes, "emphasis": EMPHASIS, "lowest": LOWEST}

    def __repr__(self) -> str:
        return f"Preprocess(train={self.train})"


def length_of(path: str | PathLike[str] | BytesIO) -> int:
    """Count the samples that a file, or its bytes, has at 16 kHz, as its header tells.

    Raises:
        InputError: If it has none, is shorter than a frame, or lacks its end.
    """
    frames, rate = measure(path)
    length = math.ceil(frames * ratio_of(checked_rate(rate)))
    if length < LogMel(rate=RATE).length:
        raise too_short(name_of(path), frames, rate)
    return length


def too_short(name: str, samples: int, rate: int) -> InputError:
    """Say that a sound is shorter than a frame."""
    return InputError(
        f"{name} of {samples} samples at {rate} Hz is shorter than one frame, 25 ms: {LogMel(rate=RATE).length} "
        f"samples at {RATE} Hz"
    )


def is_rated(sound: Any) -> bool:
    """Tell whether this is a sound with its rate."""
    return isinstance(sound, tuple) and len(sound) == 2 and isinstance(sound[1], int | np.integer)


def opened(sound: Any, rate: SupportsIndex | None) -> tuple[Float[Tensor, " t"], int]:
    """Give samples, of one channel, and their rate.

    Raises:
        InputError: If this is no sound, or its rate no rate or another than the one that was stated.
    """
    if is_rated(sound):
        sound, own = sound
        rate = agreed(int(own), rate, name_of(sound))
    if isinstance(sound, str | PathLike | BytesIO):
        raw, own = read(sound if isinstance(sound, BytesIO) else fspath(sound))
        return raw.mean(1), checked_rate(agreed(own, rate, name_of(sound)))
    return one_channel(floating(sound)), checked_rate(RATE if rate is None else rate)


def agreed(own: int, stated: SupportsIndex | None, name: str) -> int:
    """Give the rate that a sound has.

    Raises:
        InputError: If another was stated.
    """
    if stated not in (None, own):
        raise InputError(f"{name} has {own} Hz, and rate={stated} was stated")
    return own


def checked_rate(rate: SupportsIndex) -> int:
    """Give a rate as a number of Python.

    Raises:
        InputError: If nothing is recorded at this rate.
    """
    low, high = RATES
    if not isinstance(rate, int | np.integer) or not low <= rate <= high:
        raise InputError(f"rate={rate!r} is no rate of samples: {low:,} to {high:,} in a second")
    return int(rate)


def floating(sound: Any) -> Float[Tensor, "..."]:
    """Give samples in float32, whole numbers brought to -1 … 1.

    Raises:
        InputError: If these are no numbers.
    """
    if not isinstance(sound, np.ndarray | Tensor):
        raise InputError(f"{type(sound).__name__} is no sound: give a file, samples, or (samples, rate)")
    try:
        if isinstance(sound, np.ndarray):  # a copy: torch warns of arrays that are read-only, and knows no other order
            sound = torch.from_numpy(np.array(sound, dtype=sound.dtype.newbyteorder("=")))
    except TypeError as error:
        raise InputError(f"an array of {sound.dtype} is no sound: {error}") from error
    x: Tensor = sound.detach().cpu()
    if x.dtype is torch.uint8:  # as 8-bit WAV: 128 is silence
        return (x.float() - 128) / 128
    if x.is_floating_point():
        return x.float()
    if x.dtype in (torch.int16, torch.int32):
        return x.float() / -torch.iinfo(x.dtype).min
    raise InputError(f"samples are {x.dtype}: floating in -1 … 1, or int16, int32 or uint8")


def one_channel(x: Float[Tensor, "..."]) -> Float[Tensor, " t"]:
    """Give the mean of the channels, which are the shorter axis.

    Raises:
        InputError: If there are none, or more axes than two.
    """
    if x.ndim == 2 and 0 < min(x.shape) <= MOST_CHANNELS:
        return x.mean(0 if x.shape[0] <= x.shape[1] else 1)
    if x.ndim != 1:
        raise InputError(
            f"samples of shape {tuple(x.shape)}: one sound is (time,), or has up to {MOST_CHANNELS} channels; several "
            "are a list"
        )
    return x


def ratio_of(rate: int) -> Fraction:
    """Give how many samples at 16 kHz stand for one at this rate; 1 for what is as good as 16 kHz."""
    return Fraction(RATE, rate).limit_denominator(FINEST)


def resampled(x: Float[Tensor, " t"], rate: int) -> Float[Tensor, " t2"]:
    """Bring a sound to 16 kHz, by sinc interpolation.

    Args:
        x: samples.
        rate: how many there are in a second.
    """
    ratio = ratio_of(rate)
    if ratio == 1 or not len(x):
        return x
    from torchaudio.functional import resample

    found: Tensor = resample(x, ratio.denominator, ratio.numerator)
    return found[: math.ceil(len(x) * ratio)]


def name_of(sound: Any, place: int | None = None) -> str:
    """Name a sound for errors: its file, or its place in the list."""
    if isinstance(sound, str | PathLike):
        return repr(fspath(sound))
    if isinstance(sound, BytesIO):
        return repr(sound)
    return "a sound" if place is None else f"sound {place}"
