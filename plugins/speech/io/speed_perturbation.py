"""Speed perturbation of audio in training; SpecAugment is part of the stem."""

from functools import cache
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

SPEEDS = (0.9, 1.0, 1.1)
"""Each as likely: the speed perturbation of Ko et al. 2015."""


def change_speed(
    sound: Float[Tensor, " t"], rate: int, generator: torch.Generator | None = None
) -> Float[Tensor, " t2"]:
    """Play a sound at one of `SPEEDS`.

    Args:
        sound: samples.
        rate: samples in a second.
        generator: draws the speed; torch's own if None.
    """
    drawn = int(torch.randint(len(SPEEDS), (1,), generator=generator))
    changed: Tensor = _speed(rate, SPEEDS[drawn])(sound)[0]
    return changed


@cache
def _speed(rate: int, factor: float) -> Any:
    from torchaudio.transforms import Speed

    return Speed(rate, factor)
