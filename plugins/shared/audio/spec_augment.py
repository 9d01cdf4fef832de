"""`SpecAugment`: masks frequency bands and stretches of time in training.

Axes: b sounds, n frames, m bands.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core import ConfigError
from zoo.plugins.shared.audio.lengths import cleared

MOST = 0.5
"""Share of a sound's frames, or of its bands, that one mask may hide: short sounds do not vanish."""


class SpecAugment(nn.Module):
    """Hide bands and stretches of time behind the mean of each band, arXiv:1904.08779 sec. 2; nothing is warped.

    Args:
        band_masks: how many masks of bands there are.
        band_width: bands of each, at most.
        time_masks: how many masks of time there are.
        time_width: frames of each, at most.

    Raises:
        ConfigError: If torchaudio, which draws the masks, is not there.
    """

    def __init__(self, band_masks: int, band_width: int, time_masks: int, time_width: int) -> None:
        super().__init__()
        try:
            from torchaudio import transforms
        except ImportError as error:
            raise ConfigError('spec_augment needs torchaudio: pip install "attention-zoo[speech]"') from error
        self.masks = transforms.SpecAugment(time_masks, time_width, band_masks, band_width, p=MOST, zero_masking=True)

    def forward(self, x: Float[Tensor, "b n m"], count: Int[Tensor, " b"] | None = None) -> Float[Tensor, "b n m"]:
        """Mask other bands and stretches in each sound, within its valid frames.

        Args:
            x: features.
            count: frames that are there; all if None.
        """
        counts = x.new_full(x.shape[:1], x.shape[1], dtype=torch.long) if count is None else count
        hidden = torch.zeros_like(x, dtype=torch.bool)
        for row, length in zip(hidden, counts.tolist(), strict=True):
            row[:length] = self.masks(x.new_ones(1, x.shape[2], length))[0].T == 0
        mean = cleared(x, counts).sum(1, keepdim=True) / counts.to(x)[:, None, None]
        return torch.where(hidden, mean, x)


def masks(numbers: Sequence[int]) -> SpecAugment | None:
    """Make the masks of four numbers, see `SpecAugment`; None of none.

    Raises:
        ConfigError: If there are not four, or one is negative or no whole number.
    """
    if len(numbers) == 0:
        return None
    if len(numbers) != 4 or not all(type(number) is int and number >= 0 for number in numbers):
        raise ConfigError(
            f"spec_augment={numbers!r} is not four whole numbers: masks of bands, bands of each, masks of time, frames "
            "of each"
        )
    return SpecAugment(*numbers)
