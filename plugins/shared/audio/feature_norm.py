"""Norms of features: each band is brought to mean 0 and variance 1, so that loudness and microphone do not matter.

Axes: b sounds, n frames, m bands.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core import ConfigError, Memory, Pointwise, Span, Stream, fixed_step
from zoo.plugins.shared.audio.lengths import cleared

SMALL = 1e-3
"""Added to the variance: silence, which has none, becomes 0."""
BEFORE = 25
"""Frames that stand for the time before a sound where its norm runs along: they tell a variance, and no mean."""
USUAL = 9.0
"""Variance of a band in speech; those frames have it."""


def by_utterance(x: Float[Tensor, "b n m"], count: Int[Tensor, " b"] | None) -> Float[Tensor, "b n m"]:
    """Norm by mean and variance of the whole sound.

    Args:
        x: features.
        count: frames that are there; all if None.
    """
    if count is None:
        mean = x.mean(1, keepdim=True)
        spread = (x - mean).square().mean(1, keepdim=True)
        return (x - mean) * (spread + SMALL).rsqrt()
    size = count.clamp(min=1).to(x)[:, None, None]
    centred = cleared(x - cleared(x, count).sum(1, keepdim=True) / size, count)
    spread = centred.square().sum(1, keepdim=True) / size
    return centred * (spread + SMALL).rsqrt()


def running(x: Float[Tensor, "b n m"], count: Int[Tensor, " b"] | None) -> Float[Tensor, "b n m"]:
    """Norm each frame by mean and variance of the frames up to it: nothing that comes later is needed.

    Args:
        x: features.
        count: frames that are there; all if None.
    """
    return cleared(RunningNorm().push(cleared(x, count)), count)


class RunningNorm(Stream):
    """Norm frames as they come; see `running`."""

    def __init__(self) -> None:
        self.count = 0
        self.sums: Tensor | None = None
        """Of all frames so far, and of their squares."""

    def push(self, x: Float[Tensor, "b n m"], last: bool = False) -> Float[Tensor, "b n m"]:
        if not x.shape[1]:
            return x
        exact = x.double()  # sums over an hour
        sums = torch.stack([exact, exact.square()]).cumsum(2)
        if self.sums is not None:
            sums += self.sums
        seen = torch.arange(1, x.shape[1] + 1, device=x.device, dtype=exact.dtype)[:, None] + self.count
        self.count, self.sums = self.count + x.shape[1], sums[:, :, -1:].clone()
        mean = sums[0] / seen
        spread = (sums[1] - seen * mean.square()).clamp(min=0)
        deviation = ((spread + BEFORE * USUAL) / (seen + BEFORE) + SMALL).sqrt()
        return ((exact - mean) / deviation).to(x.dtype)

    @property
    def stored(self) -> int:
        return 0 if self.sums is None else self.sums.numel()


@fixed_step.register(RunningNorm)
def _(stage: RunningNorm, x: Tensor, span: Span, memory: Memory) -> tuple[Tensor, Span]:
    norm = RunningNorm()
    norm.count = span.first  # type: ignore[assignment]  # a number that is not known yet
    norm.sums = memory.read(x.new_zeros(2, x.shape[0], 1, x.shape[2], dtype=torch.float64))
    y = norm.push(x)
    memory.new.append(norm.sums)
    return y, span


def unchanged(x: Float[Tensor, "b n m"], count: Int[Tensor, " b"] | None) -> Float[Tensor, "b n m"]:
    """Leave features as they are, 0 where none are.

    Args:
        x: features.
        count: frames that are there; all if None.
    """
    return cleared(x, count)


NORMS = {"utterance": by_utterance, "running": running, "none": unchanged}
"""By name; each gives 0 where no frame is."""


def stream_of_norm(name: str) -> Stream:
    """Give the stage that norms frames while they come.

    Raises:
        ConfigError: If this norm needs them all.
    """
    if name == "utterance":
        raise ConfigError(
            f"normalise={name!r} needs a sound to its end: a model made with normalise='running' answers while it comes"
        )
    return RunningNorm() if name == "running" else Pointwise(lambda x: x)


def norm_of(name: str) -> str:
    """Give the name of a norm back.

    Raises:
        ConfigError: If it is not one of `NORMS`.
    """
    if name not in NORMS:
        raise ConfigError(f"normalise={name!r} is not one of {', '.join(NORMS)}")
    return name
