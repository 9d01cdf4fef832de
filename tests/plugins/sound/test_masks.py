"""Masks of features: whole bands and whole frames, other ones in each sound, and never all of a short one."""

import sys

import pytest
import torch

from zoo.core.errors import ConfigError
from zoo.plugins.sound.masks import SpecAugment, masks


def test_masks_hide_whole_bands_and_whole_frames_of_each_sound() -> None:
    torch.manual_seed(0)
    hidden = SpecAugment(1, 20, 1, 30)(torch.ones(4, 100, 80)) == 0
    bands, frames = hidden.all(1), hidden.all(2)
    assert torch.equal(hidden, bands[:, None] | frames[:, :, None])
    assert (bands.sum(1) <= 20).all()
    assert (frames.sum(1) <= 30).all()
    assert len(set(bands.sum(1).tolist())) > 1
    assert len(set(frames.sum(1).tolist())) > 1


def test_a_mask_hides_no_more_than_half_of_a_short_sound() -> None:
    torch.manual_seed(0)
    for _ in range(20):
        assert (SpecAugment(0, 0, 1, 1_000)(torch.ones(1, 10, 80)) == 0).all(2).sum() <= 5


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
