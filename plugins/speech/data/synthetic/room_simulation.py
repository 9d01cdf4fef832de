"""Room simulation for augmentation: surrounding silence, reverberation and noise, drawn for each example.

Axes: t samples.
"""

from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from zoo.plugins.speech.io.preprocess import RATE

DECAY = 6.9077553
"""Natural logarithm of 1,000: a reverberation time is that in which sound falls by 60 dB."""
LOWEST = 50.0
"""Hertz, below which coloured noise does not grow."""
SLOPES = (0.0, 0.5, 1.0, 1.5, 2.0)
"""Of noise: 0 is white, 1 pink, 2 brown."""
TAPE = 2**17
"""Samples of noise of each colour, 8 seconds."""
BLOCK = 4096
"""Samples to whole multiples of which sounds are filled up: Fourier transforms of other lengths cost far more."""


@dataclass(frozen=True)
class Room:
    """Draw rooms between bounds, each evenly.

    Args:
        around: seconds of silence in front and behind, at most.
        reverberation: seconds in which echoes fall by 60 dB.
        direct: sound that comes straight, in dB over all echoes.
        noise: speech, in dB over noise.
        clean: share of sounds without echoes and noise, as those of a file that was never in a room.
    """

    around: float = 0.15
    reverberation: tuple[float, float] = (0.1, 0.5)
    direct: tuple[float, float] = (3.0, 15.0)
    noise: tuple[float, float] = (10.0, 40.0)
    clean: float = 0.1

    def __call__(self, sound: Float[Tensor, " t"], generator: torch.Generator) -> Float[Tensor, " t2"]:
        """Give a sound as it is heard."""
        from torchaudio.functional import add_noise, fftconvolve

        front, behind, seconds, direct, ratio, colour, start, clean = torch.rand(8, generator=generator).tolist()
        most = int(self.around * RATE)
        quiet = torch.nn.functional.pad(sound, (int(front * most), int(behind * most)))
        if clean < self.clean:
            return quiet
        response = impulse_response(_between(self.reverberation, seconds), _between(self.direct, direct), generator)
        heard = fftconvolve(quiet, _filled(response, len(quiet)))[: len(quiet)]
        tape = coloured(SLOPES[int(colour * len(SLOPES))])
        if len(heard) > len(tape):
            tape = tape.repeat(1 + len(heard) // len(tape))
        first = int(start * (len(tape) - len(heard)))
        hiss = tape[first : first + len(heard)]
        noisy: Tensor = add_noise(heard, hiss, torch.tensor(_between(self.noise, ratio)))
        return noisy


def impulse_response(seconds: float, direct: float, generator: torch.Generator) -> Float[Tensor, " r"]:
    """Draw what a room makes of a click: the click, and noise that falls exponentially, as the model of Polack 1988.

    Args:
        seconds: in which the echoes fall by 60 dB; what comes later is left out.
        direct: energy of the click, in dB over that of the echoes.
        generator: draws them.
    """
    time = torch.arange(1, max(2, int(seconds * RATE))) / RATE
    echoes = torch.randn(len(time), generator=generator) * torch.exp(-DECAY / seconds * time)
    echoes = echoes * 10 ** (-direct / 20) / echoes.norm().clamp(min=1e-9)
    return torch.cat([torch.ones(1), echoes])


@cache
def coloured(slope: float) -> Float[Tensor, " t"]:
    """Give seconds of noise, always the same, whose power falls with frequency to the power of a slope.

    They are played from another place each time, which costs nothing.
    """
    spectrum = torch.fft.rfft(torch.randn(TAPE, generator=torch.Generator().manual_seed(round(1000 * slope))))
    hertz = torch.arange(len(spectrum)) * (RATE / TAPE)
    return torch.fft.irfft(spectrum * hertz.clamp(min=LOWEST).pow(-slope / 2), n=TAPE)


def _filled(response: Float[Tensor, " r"], samples: int) -> Float[Tensor, " q"]:
    """Put zeros behind a response, so that its convolution with so many samples has a good length."""
    whole = -(-(samples + len(response) - 1) // BLOCK) * BLOCK
    return torch.nn.functional.pad(response, (0, whole - samples + 1 - len(response)))


def _between(bounds: tuple[float, float], share: float) -> float:
    low, high = bounds
    return low + share * (high - low)
