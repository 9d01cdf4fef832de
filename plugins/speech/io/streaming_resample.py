"""Streaming resampling to 16 kHz: chunks give the same samples as the whole.

Axes: b sounds, t and t2 samples, m windows.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import conv1d

from zoo.core import Stream, Windows
from zoo.plugins.speech.io.preprocess import ratio_of


class Resampling(Stream):
    """Interpolate as `zoo.plugins.speech.io.preprocess.resampled`, with the samples kept that the next ones need.

    Args:
        rate: samples in a second, whose `ratio_of` is not 1.
    """

    def __init__(self, rate: int) -> None:
        from torchaudio.transforms import Resample

        self.ratio = ratio_of(rate)
        self.given, step = self.ratio.as_integer_ratio()
        sinc = Resample(step, self.given, dtype=torch.float32)
        self.kernel: Tensor = sinc.kernel
        """Weights of what a window reads, for each of the samples that it gives."""
        self.ahead: int = step + sinc.width
        """Samples that must have come behind one before it is given, at most."""
        size = self.kernel.shape[2]
        self.windows = Windows(self._apply, (self.given,), size, step, (sinc.width, self.ahead))
        self.came = self.gave = 0

    def push(self, x: Float[Tensor, "b t"], last: bool = False) -> Float[Tensor, "b t2"]:
        self.came += x.shape[1]
        y = self.windows.push(x, last).flatten(1)
        if last:  # of the last window, what lies in the sound
            y = y[:, : self.gives(self.came) - self.gave]
        self.gave += y.shape[1]
        return y

    def gives(self, samples: int) -> int:
        """Count the samples that a sound of so many has at 16 kHz."""
        return math.ceil(samples * self.ratio)

    def ready(self, items: int) -> int:
        return self.given * self.windows.ready(items)

    @property
    def stored(self) -> int:
        return self.windows.stored

    def _apply(self, x: Float[Tensor, "b t"]) -> Float[Tensor, "b m given"]:
        return conv1d(x[:, None], self.kernel, stride=self.windows.step).transpose(1, 2)
