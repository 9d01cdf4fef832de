"""Augmentation of sounds in training, by name: other speeds, and noise; SpecAugment is part of the model's stem.

Axes: t samples.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from zoo.plugins.speech.io.preprocess import RATE
from zoo.plugins.speech.io.speed_perturbation import change_speed

Change = Callable[[Tensor, torch.Generator], Tensor]
"""Lets a sound be heard another way, drawn by the generator."""
LOUDNESS = 10.0, 40.0
"""Decibels of a sound over the noise that is added."""


def add_noise(sound: Float[Tensor, " t"], generator: torch.Generator) -> Float[Tensor, " t"]:
    """Add white noise, 10 to 40 dB below the sound; silence stays as it is."""
    from torchaudio.functional import add_noise

    low, high = LOUDNESS
    loudness = low + (high - low) * torch.rand((), generator=generator)
    noise = torch.randn(sound.shape, generator=generator)
    found: Tensor = add_noise(sound, noise, loudness) if sound.any() else sound
    return found


def faster_or_slower(sound: Float[Tensor, " t"], generator: torch.Generator) -> Float[Tensor, " t2"]:
    """Play a sound at another speed."""
    return change_speed(sound, RATE, generator)


CHANGES: Mapping[str, Change] = {"speed": faster_or_slower, "noise": add_noise}
"""Augmentations by name, in the order in which they are made."""


def changed_by(names: Sequence[str]) -> Change | None:
    """Give what makes all augmentations of these names; None for none."""
    changes = [change for name, change in CHANGES.items() if name in names]

    def change(sound: Tensor, generator: torch.Generator) -> Tensor:
        for each in changes:
            sound = each(sound, generator)
        return sound

    return change if changes else None
