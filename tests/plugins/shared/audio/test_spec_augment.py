"""Masks of features: whole bands and whole frames, other ones in each sound, and never all of a short one."""

import sys

import pytest
import torch
from torch import Tensor

from zoo.core.errors import ConfigError
from zoo.plugins.shared.audio.spec_augment import SpecAugment, masks

pytestmark = pytest.mark.usefixtures("float64")


def hidden_by(layer: SpecAugment, x: Tensor, count: Tensor | None = None) -> Tensor:
    return layer(x, count) != x


def test_masks_hide_whole_bands_and_whole_frames_of_each_sound() -> None:
    torch.manual_seed(0)
    hidden = hidden_by(SpecAugment(1, 20, 1, 30), torch.randn(4, 100, 80))
    bands, frames = hidden.all(1), hidden.all(2)
    assert torch.equal(hidden, bands[:, None] | frames[:, :, None])
    assert (bands.sum(1) <= 20).all()
    assert (frames.sum(1) <= 30).all()
    assert len(set(bands.sum(1).tolist())) > 1
    assert len(set(frames.sum(1).tolist())) > 1


def test_a_mask_hides_frames_of_a_short_sound_and_no_more_than_half_of_them() -> None:
    torch.manual_seed(0)
    layer, x, count = SpecAugment(0, 0, 1, 1_000), torch.randn(41, 100, 8), torch.tensor([100] + [10] * 40)
    for hidden in (hidden_by(layer, x[1:, :10]), hidden_by(layer, x, count)[1:]):
        frames = hidden.all(2)
        assert not frames[:, 10:].any()
        assert (frames.sum(1) <= 5).all()
        assert (frames.sum(1) > 0).float().mean() > 0.5


def test_what_is_hidden_shows_the_mean_of_its_band_over_the_frames_that_are_there() -> None:
    torch.manual_seed(0)
    x, count = torch.randn(3, 60, 8) - torch.arange(8.0), torch.tensor([60, 30, 1])
    x[1, 30:] = torch.nan
    y = SpecAugment(1, 4, 2, 20)(x, count)
    for row, n in enumerate(count.tolist()):
        mean = x[row, :n].mean(0).expand(n, -1)
        changed = y[row, :n] != x[row, :n]
        assert changed.any() or n == 1
        torch.testing.assert_close(y[row, :n][changed], mean[changed])
        torch.testing.assert_close(y[row, n:], x[row, n:], equal_nan=True)


def test_no_numbers_make_no_masks() -> None:
    assert masks(()) is None
    assert masks([]) is None


@pytest.mark.parametrize("numbers", [[2], [2, 27, 2, -1], [2, 27, 2, 40, 1]])
def test_other_numbers_than_four_are_refused(numbers: list[int]) -> None:
    with pytest.raises(ConfigError, match=r"spec_augment=\[2.* is not four whole numbers"):
        masks(numbers)


def test_the_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchaudio", None)
    with pytest.raises(ConfigError, match=r"spec_augment needs torchaudio: pip install .attention-zoo\[speech\]"):
        masks([2, 27, 2, 40])
