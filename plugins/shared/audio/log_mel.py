"""From samples to frames: log-mel energies as Kaldi computes them, of whole batches at once.

Axes: b sounds, t samples, n frames, w samples of a frame, m bands.
"""

import math
from contextlib import AbstractContextManager, nullcontext

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core import ConfigError, Windows
from zoo.plugins.shared.audio.lengths import Count

LOWEST = 20.0
"""Hertz, where the lowest band begins."""
EMPHASIS = 0.97
"""Share of the sample before that is taken off each."""
BLOCK = 4096
"""Frames that are computed at once: they stay in the processor's caches, and hours of sound in little memory."""


class LogMel(nn.Module):
    """Give the logarithm of the energy in bands of equal width on the mel scale, for overlapping frames.

    The same as `torchaudio.compliance.kaldi.fbank` without dither: frames lie wholly inside the sound, each without its
    mean, high frequencies raised, under Povey's window. It holds no numbers that another dtype could round.

    Args:
        bands: m.
        rate: samples in a second.
        length: of a frame, ms.
        step: from frame to frame, ms.

    Raises:
        ConfigError: If a frame or a step has no sample, or there are too few bands.
    """

    def __init__(self, bands: int = 80, rate: int = 16_000, length: float = 25.0, step: float = 10.0) -> None:
        super().__init__()
        self.bands = bands
        self.rate = rate
        self.length = int(rate * length / 1000)
        """Samples of a frame."""
        self.step = int(rate * step / 1000)
        """Samples from frame to frame."""
        if self.length < 2 or self.step < 1 or bands < 4:
            raise ConfigError(
                f"bands={bands}, rate={rate}, length={length} ms, step={step} ms: at least 4 bands, 2 samples in a "
                "frame and 1 from frame to frame"
            )
        self.points = 1 << (self.length - 1).bit_length()
        """Points of the Fourier transform."""

    def count(self, samples: Count) -> Count:
        """Count the frames that so many samples hold."""
        frames = (samples - self.length) // self.step + 1
        return frames.clamp(min=0) if isinstance(frames, Tensor) else max(frames, 0)

    def forward(self, sounds: Float[Tensor, "b t"]) -> Float[Tensor, "b n m"]:
        """Give the features of sounds; samples lie in -1 … 1, and are read in float32 at least."""
        with outside_autocast(sounds.device.type):
            sounds = sounds if sounds.dtype is torch.float64 else sounds.float()
            if sounds.shape[1] < self.length:
                return sounds.new_zeros(len(sounds), 0, self.bands)
            return self.read(sounds, *self.tables(sounds))

    def tables(self, like: Tensor) -> tuple[Float[Tensor, " w"], Float[Tensor, "f m"]]:
        """Give the window of a frame and the bands, on the device and in the dtype of a tensor."""
        return povey(self.length, like), mel_banks(self.bands, self.points, self.rate, like)

    def read(
        self, sounds: Float[Tensor, "b t"], window: Float[Tensor, " w"], banks: Float[Tensor, "f m"]
    ) -> Float[Tensor, "b n m"]:
        """Give the features of sounds that hold a frame or more, by `tables`."""
        raised = torch.cat([sounds[:, :1], sounds[:, 1:] - EMPHASIS * sounds[:, :-1]], dim=1)
        plain, raised = (x.unfold(1, self.length, self.step) for x in (sounds, raised))
        size = max(1, BLOCK // max(len(sounds), 1))
        blocks = zip(plain.split(size, dim=1), raised.split(size, dim=1), strict=True)
        return torch.cat([self._energies(*block, window, banks) for block in blocks], dim=1)

    def stream(self) -> Windows:
        """Give the stage that does the same while samples come, float32 or float64; it makes its tables once."""
        tables: list[Tensor] = []

        def apply(sounds: Tensor) -> Tensor:
            with outside_autocast(sounds.device.type):
                if not tables:
                    tables.extend(self.tables(sounds))
                return self.read(sounds, *tables)

        return Windows(apply, (self.bands,), self.length, self.step)

    def _energies(
        self,
        plain: Float[Tensor, "b n w"],
        raised: Float[Tensor, "b n w"],
        window: Float[Tensor, " w"],
        banks: Float[Tensor, "f m"],
    ) -> Float[Tensor, "b n m"]:
        # Kaldi takes off the mean and then raises; the first sample, which alone tells the order, has no weight.
        mean = (1 - EMPHASIS) * plain.mean(2, keepdim=True)
        spectrum = torch.view_as_real(torch.fft.rfft((raised - mean) * window, n=self.points))
        power = spectrum.square().sum(3)
        return (power @ banks).clamp(min=torch.finfo(torch.float32).eps).log()

    def extra_repr(self) -> str:
        """Return the options that `repr` shows."""
        return f"bands={self.bands}, rate={self.rate}, length={self.length}, step={self.step}"


def outside_autocast(device: str) -> AbstractContextManager[object]:
    """Keep autocast from rounding products, where this type of device has it."""
    return torch.autocast(device, enabled=False) if torch.amp.is_autocast_available(device) else nullcontext()


def povey(length: int, like: Tensor) -> Float[Tensor, " w"]:
    """Give Povey's window: Hann's to the power of 0.85, which is 0 at both ends."""
    return torch.hann_window(length, periodic=False, device=like.device, dtype=like.dtype).pow(0.85)


def mel_banks(bands: int, points: int, rate: int, like: Tensor) -> Float[Tensor, "f m"]:
    """Give the weight of each frequency, 0 … points/2, in each band: triangles of equal width on the mel scale.

    Args:
        bands: triangles; each begins in the middle of the one before.
        points: of the Fourier transform.
        rate: samples in a second.
        like: tells device and dtype.
    """
    low, high = _mel(LOWEST), _mel(rate / 2)
    width = (high - low) / (bands + 1)
    hertz = torch.arange(points // 2 + 1, device=like.device, dtype=like.dtype) * (rate / points)
    place = (1127.0 * (1 + hertz / 700).log() - low) / width
    distance = (place[:, None] - torch.arange(1, bands + 1, device=like.device, dtype=like.dtype)).abs()
    return (1 - distance).clamp(min=0) * (hertz < rate / 2)[:, None]


def _mel(hertz: float) -> float:
    return 1127.0 * math.log(1 + hertz / 700)
