"""What makes more of little sound, in training: other speeds. What hides features is part of the stem."""

from jaxtyping import Float
from torch import Tensor

SPEEDS = (0.9, 1.0, 1.1)
"""Each as likely: the speed perturbation of Ko et al. 2015."""


def change_speed(sound: Float[Tensor, " t"], rate: int) -> Float[Tensor, " t2"]:
    """Play a sound at one of `SPEEDS`, drawn by torch's generator.

    Args:
        sound: samples.
        rate: samples in a second.
    """
    from torchaudio.transforms import SpeedPerturbation

    changed: Tensor = SpeedPerturbation(rate, SPEEDS)(sound)[0]
    return changed
