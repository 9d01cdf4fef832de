import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from zoo.errors import DataError
from zoo.plugins.vision.data.folders import lazy_images
from zoo.plugins.vision.data.folders.folder_index import FolderIndex
from zoo.plugins.vision.data.folders.lazy_images import ImageReader, LazyImages, read_all
from zoo.plugins.vision.data.folders.pixel_cache import PixelCache

Draw = Callable[..., Path]


@pytest.fixture
def index(draw: Draw) -> FolderIndex:
    return FolderIndex.open(draw({"cats": 5, "dogs": 4}))


def spoil(index: FolderIndex, *places: int) -> FolderIndex:
    """Write something else into files, and list them again."""
    for place in places:
        index.path(place).write_bytes(b"no picture")
    return FolderIndex.open(index.root)


def test_pictures_are_fitted_bytes_in_the_order_asked_for(index: FolderIndex) -> None:
    images, good = LazyImages(ImageReader(index, 8), np.arange(9)).read(torch.tensor([7, 0]))
    assert good.tolist() == [True, True]
    for image, place in zip(images, (7, 0), strict=True):
        fitted = ImageOps.fit(Image.open(index.path(place)), (8, 8))
        assert torch.equal(image, torch.from_numpy(np.array(fitted)).permute(2, 0, 1))


def test_a_broken_picture_is_replaced_by_the_next_good_one_of_its_class(index: FolderIndex) -> None:
    index = spoil(index, 1, 2, 4)
    pool = np.array([0, 1, 2, 3, 4, 5, 6])
    images = LazyImages(ImageReader(index, 8), pool, pool)
    read, good = images.read(torch.arange(7))
    assert good.all()
    for place, instead in ((1, 3), (2, 3), (4, 0)):
        assert torch.equal(read[place], read[instead])
    assert images.reader.notes.texts(9) == ("3 unreadable images skipped so far: cats/1.png, cats/2.png, cats/4.png",)


def test_without_substitutes_a_broken_picture_is_told(index: FolderIndex) -> None:
    index = spoil(index, 1)
    images, good = LazyImages(ImageReader(index, 8), np.array([0, 1])).read(torch.tensor([0, 1]))
    assert good.tolist() == [True, False]
    assert not images[1].any()


def test_a_class_without_a_readable_picture_is_named(index: FolderIndex) -> None:
    index = spoil(index, 5, 6, 7, 8)
    images = LazyImages(ImageReader(index, 8), np.arange(9), np.arange(9))
    with pytest.raises(
        DataError, match=r"class 'dogs' has no readable images \(cannot identify image file '.*dogs/.*'\) to train on"
    ):
        images.read(torch.tensor([6]))


def test_changes_see_whole_pictures_or_those_of_the_cache(index: FolderIndex) -> None:
    sizes: list[tuple[int, int]] = []

    def change(image: Image.Image | torch.Tensor, row: int) -> torch.Tensor:
        height, width = image.shape[1:] if isinstance(image, torch.Tensor) else image.size
        sizes.append((height, width))
        return torch.full((3, 2, 2), row, dtype=torch.uint8)

    for cache in (None, PixelCache(index, 8)):
        changed = LazyImages(ImageReader(index, 8, cache), np.arange(9), np.arange(9)).changed(
            torch.tensor([3, 1]), change
        )
        assert changed[:, 0, 0, 0].tolist() == [0, 1]
    assert sizes == [(14, 10)] * 2 + [(8, 8)] * 2


def test_a_full_disk_ends_the_decoding_into_the_cache(index: FolderIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    cache = PixelCache(index, 8)
    monkeypatch.setattr(os, "pwrite", full)
    monkeypatch.setattr(lazy_images, "read_all", lambda reader, places: map(reader.pixels, places.tolist()))
    read: list[int] = []

    def whole(place: int) -> Image.Image:
        read.append(place)
        return Image.new("RGB", (8, 8))

    reader = ImageReader(index, 8, cache)
    monkeypatch.setattr(reader, "whole", whole)
    with pytest.warns(UserWarning, match="No space left on device. Set ZOO_CACHE"):
        LazyImages(reader, np.arange(9)).fill_cache()
    assert read == [0]


def test_constant_pictures_are_noted(index: FolderIndex) -> None:
    Image.new("RGB", (9, 9), "red").save(index.path(3))
    reader = ImageReader(FolderIndex.open(index.root), 8)
    assert [pixels is None for pixels in read_all(reader, np.arange(9))] == [False] * 9
    assert reader.notes.texts(9) == ("1 of 9 files is constant, all pixels equal after reading: cats/3.png",)


def test_names_that_are_no_utf_8_are_read_and_told(index: FolderIndex) -> None:
    index.path(0).rename(index.root / "cats" / "caf\udce9.png")
    index.path(1).rename(index.root / "cats" / "x\udcff.png")
    (index.root / "cats" / "x\udcff.png").write_bytes(b"no picture")
    reader = ImageReader(FolderIndex.open(index.root), 8)
    assert [pixels is None for pixels in read_all(reader, np.arange(9))] == [False] * 4 + [True] + [False] * 4
    assert reader.notes.texts(9) == (r"1 unreadable image skipped so far: cats/x\xff.png",)
