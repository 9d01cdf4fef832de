"""The options that encoders of sound share: the attention that they make, and windows."""

from typing import Any

import pytest

from zoo.core import Attention, Window
from zoo.core.errors import ConfigError
from zoo.plugins.shared.audio.config import SoundConfig, window_of


def test_the_window_is_in_vectors_of_40_milliseconds() -> None:
    assert SoundConfig(window="full").pattern is None
    pattern = SoundConfig(window=[640, 80]).pattern
    assert pattern == Window(16, 2)


def test_the_attention_has_its_position_as_far_as_it_looks() -> None:
    layer = SoundConfig(window=80, position="relative").self_attention()(8, 2)
    assert isinstance(layer, Attention)
    assert layer.position is not None
    assert SoundConfig(window=80, position="none").self_attention()(8, 2).position is None


def test_windows_are_written_in_milliseconds() -> None:
    assert window_of(640) == Window(16, 16)
    assert window_of([640, 0]) == Window(16, 0)
    assert window_of((1280, 160)) == Window(32, 4)
    assert window_of("full") is None


@pytest.mark.parametrize(
    ("window", "text"),
    [
        (650, "window=650: milliseconds are multiples of 40"),
        ([-40, 0], r"window=\[-40, 0\]"),
        ("640", "window='640' is neither milliseconds"),
        ([40], r"window=\[40\] is neither"),
        ([40.0, 0], r"window=\[40.0, 0\] is neither"),
    ],
)
def test_what_is_no_window_is_refused(window: Any, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        window_of(window)
