"""The suite `data`, images: both sides read as many."""

from collections.abc import Callable
from pathlib import Path

import pytest

from zoo.bench.data.images import against_torchvision, cached, drawn, opened


@pytest.mark.parametrize("build", [lambda *sizes: cached("crop", *sizes), against_torchvision])
def test_both_sides_read_each_training_image_once(
    build: Callable[..., tuple[Callable[[], int], Callable[[], int]]],
) -> None:
    ours, theirs = build(60, 16, 8, 4)
    assert ours() == theirs() == opened(60, 16, 8, "crop").sizes["train"]


def test_images_are_drawn_once_and_differ() -> None:
    folder = drawn(20, 16)
    assert drawn(20, 16) is folder
    files = list(Path(folder.name).glob("images/class*/*.jpg"))
    assert len(files) == len({file.read_bytes() for file in files}) == 20
