"""Exact lengths of frames and vectors, and zeros at padding.

Axes: b sounds, n samples, frames or vectors.
"""

from typing import TypeVar

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from zoo.plugins.shared.audio.config import WAVE_TOKEN

Count = TypeVar("Count", int, Tensor)
FRAME, STEP = 400, 160
"""Samples of a frame, 25 ms, and from one to the next, 10 ms."""


def halved(count: Count) -> Count:
    """Return the length after a convolution of stride 2: half, rounded up."""
    return (count + 1) // 2


def quartered(count: Count) -> Count:
    """Return the length after two such convolutions: a quarter, rounded up."""
    return halved(halved(count))


def count_vectors(samples: Count, milliseconds: int) -> Count:
    """Count the vectors that a model makes of samples at 16 kHz, each of a frame of 25 ms.

    Args:
        samples: of each sound.
        milliseconds: from vector to vector: 40 behind log-mel frames, which convolutions of stride 2 halve twice, or 20
            of `WaveStem`.
    """
    if milliseconds == WAVE_TOKEN:
        return (samples - FRAME) // (2 * STEP) + 1
    return quartered((samples - FRAME) // STEP + 1)


def valid_mask(count: Int[Tensor, " b"], n: int, device: torch.device) -> Bool[Tensor, "b n"]:
    """Return the mask (batch, n) of the first `count` places of each row."""
    return torch.arange(n, device=device) < count.to(device)[:, None]


def cleared(x: Shaped[Tensor, "b n *rest"], count: Int[Tensor, " b"] | None) -> Shaped[Tensor, "b n *rest"]:
    """Set the padding to zero, so that nothing in it can leak.

    Args:
        x: samples, frames or vectors.
        count: how many of each sound are there; all if None.
    """
    if count is None:
        return x
    taken = valid_mask(count, x.shape[1], x.device)
    return x.masked_fill(~taken.view(*taken.shape, *(1,) * (x.ndim - 2)), 0)
