import re
from typing import Any

import numpy as np
import pytest

from zoo import DataError
from zoo.plugins.vision.data.arrays import read_arrays

LABELS = np.arange(6) % 2
PIXELS = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), dtype=np.uint8)


def read(pictures: Any, labels: Any = LABELS) -> Any:
    return read_arrays({"train": (pictures, labels)}, "mine")


@pytest.mark.parametrize(
    "given",
    [
        PIXELS,
        PIXELS.transpose(0, 3, 1, 2),
        PIXELS.astype(np.int64),
        PIXELS / 255,
        PIXELS.astype(np.float32),
        PIXELS.astype(np.uint16) * 257,
    ],
    ids=["HWC", "CHW", "int64", "0 to 1", "0 to 255", "uint16"],
)
def test_the_same_pictures_in_every_layout_and_range_are_the_same_bytes(given: Any) -> None:
    assert (read(given).parts["train"][0].numpy() == PIXELS.transpose(0, 3, 1, 2)).all()


def test_true_pixels_are_white() -> None:
    assert read(PIXELS[..., 0] > 100).parts["train"][0].unique().tolist() == [0, 255]


def test_one_line_says_what_was_understood() -> None:
    assert read(PIXELS).understood == "8 x 8 pixels, RGB, as (count, height, width, channels) of uint8 in 0 … 255"
    floats = read(PIXELS.transpose(0, 3, 1, 2) / 255).understood
    assert floats == "8 x 8 pixels, RGB, as (count, channels, height, width) of float64 in 0 … 1"
    assert read(PIXELS[..., 0]).understood.startswith("8 x 8 pixels, grey, as (count, height, width) of")


def test_the_range_is_that_of_all_parts() -> None:
    """A dark part of pictures in 0 … 255 is not of 0 … 1."""
    dark = np.minimum(PIXELS, 1).astype(np.float32)
    found = read_arrays({"train": (PIXELS.astype(np.float32), LABELS), "test": (dark, LABELS)}, "mine")
    assert found.parts["test"][0].max() == 1


def test_one_hot_rows_and_columns_of_labels_are_labels() -> None:
    for labels in (np.eye(2)[LABELS], LABELS[:, None], LABELS.astype(float)):
        found = read(PIXELS, labels)
        assert (found.parts["train"][1].tolist(), found.classes) == (LABELS.tolist(), ["0", "1"])


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"train": (PIXELS / 100 - 1, LABELS)}, "float64 pictures from -1 to"),
        ({"train": (PIXELS[:, :5], LABELS)}, "pictures of shape (6, 5, 8, 3); (count, side, side[, channels])"),
        ({"train": (PIXELS, LABELS / 2)}, "label 0.5 is a fraction"),
        ({"train": (PIXELS, np.ones((6, 2)))}, "labels of shape (6, 2) are not one-hot"),
        ({"train": (PIXELS, LABELS), "test": (PIXELS, LABELS + 1)}, "label 2 of test are in no training example"),
        ({"train": (PIXELS, LABELS), "test": (PIXELS[:, :4, :4], LABELS)}, "parts of different pictures, train (6, 8"),
    ],
)
def test_arrays_that_cannot_be_used(given: Any, text: str) -> None:
    with pytest.raises(DataError, match=re.escape(text)):
        read_arrays(given, "mine")
