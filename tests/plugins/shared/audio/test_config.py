"""The options that encoders of sound share: the stem and the attention that they make."""

import torch

from zoo.core import Attention, Window
from zoo.plugins.shared.audio.config import SoundConfig
from zoo.plugins.shared.audio.subsample import Subsample2d


def test_the_window_is_in_vectors_of_40_milliseconds() -> None:
    assert SoundConfig(window="full").pattern is None
    pattern = SoundConfig(window=[640, 80]).pattern
    assert pattern == Window(16, 2)


def test_the_stem_has_the_options() -> None:
    config = SoundConfig(bands=20, dim=8, window=[80, 0], spec_augment=[1, 4, 1, 5], normalise="none")
    stem = config.stem(ahead=False, subsample=Subsample2d)
    assert stem.pattern == config.pattern
    assert stem.augment is not None
    assert isinstance(stem.subsample, Subsample2d)
    assert stem(torch.zeros(1, 8_000)).x.shape[2] == 8


def test_the_attention_has_its_position_as_far_as_it_looks() -> None:
    layer = SoundConfig(window=80, position="relative").self_attention()(8, 2)
    assert isinstance(layer, Attention)
    assert layer.position is not None
    assert SoundConfig(window=80, position="none").self_attention()(8, 2).position is None
