"""`LazyImages`: images of a folder that are read when they are needed, by one reader, from the cache where they are.

Axes: b images, c channels, h and w pixels.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Int, UInt8
from numpy.typing import NDArray
from torch import Tensor

from zoo import DataError, InputError
from zoo.data import cache_folder, shown
from zoo.plugins.vision.data.folders.folder_index import FolderIndex
from zoo.plugins.vision.data.folders.folder_listing import shown_name
from zoo.plugins.vision.data.folders.pixel_cache import PixelCache
from zoo.plugins.vision.data.folders.reading_notes import ReadingNotes
from zoo.plugins.vision.read_image import is_constant, read_image

if TYPE_CHECKING:
    from PIL.Image import Image

Change = Callable[["Image | Tensor", int], Tensor]
"""Image, PIL's or bytes (c, h, w), and its place in the batch to bytes (c, h, w), all of one size."""


class ImageReader:
    """Read the images of a folder: by one function, from the cache where they are there, with notes on the broken.

    Args:
        index: of the images.
        size: pixels along a side, to which they are resized and cropped.
        cache: of decoded images of that size, if there is one.
    """

    def __init__(self, index: FolderIndex, size: int, cache: PixelCache | None = None) -> None:
        self.index, self.size, self.cache = index, size, cache
        self.notes = ReadingNotes(cache_folder() / "images" / f"notes-{index.fingerprint}.jsonl")

    def pixels(self, place: int) -> NDArray[np.uint8] | None:
        """Give an image as bytes (h, w, c); None if it cannot be read."""
        from PIL import ImageOps

        if self.cache is not None and (found := self.cache.get(place)) is not None:
            return found
        if (image := self.whole(place)) is None:
            return None
        pixels = np.array(ImageOps.fit(image, (self.size, self.size)))
        if self.cache is not None:
            self.cache.put(place, pixels)
        return pixels

    def image(self, place: int) -> "Image | Tensor | None":
        """Give bytes (c, h, w) of the cache, or the whole image where there is no cache; None if it cannot be read."""
        if self.cache is None:
            return self.whole(place)
        pixels = self.pixels(place)
        return None if pixels is None else torch.from_numpy(pixels).permute(2, 0, 1)

    def whole(self, place: int) -> "Image | None":
        """Decode an image; None if it cannot be read."""
        try:
            image = read_image(self.index.opened(place))
        except (OSError, InputError) as error:
            self.notes.unreadable(shown_name(self.index.name(place)), str(error))
            return None
        if is_constant(image):
            self.notes.constant(shown_name(self.index.name(place)))
        return image


class LazyImages:
    """Some images of a folder; nothing is read before `read` or `changed`.

    Args:
        reader: reads them.
        places: of the images in the index.
        substitutes: images, in the order of the index; the next of the same class takes the place of an image that
            cannot be read. None leaves such an image out: black, and told by `read`.
    """

    def __init__(
        self, reader: ImageReader, places: Int[np.ndarray, " n"], substitutes: Int[np.ndarray, " m"] | None = None
    ) -> None:
        self.reader, self.places, self.substitutes = reader, places, substitutes

    def __len__(self) -> int:
        return len(self.places)

    def take(self, index: Int[np.ndarray, " k"]) -> "LazyImages":
        """Choose some of the images; nothing is read."""
        return LazyImages(self.reader, self.places[index], self.substitutes)

    def read(self, index: Int[Tensor, " b"]) -> tuple[UInt8[Tensor, "b c h w"], Bool[Tensor, " b"]]:
        """Read images, and tell which of them could be read."""
        places = self.places[index.numpy()]
        size = self.reader.size
        images = torch.zeros(len(places), size, size, 3, dtype=torch.uint8)
        good = torch.ones(len(places), dtype=torch.bool)
        for row, place in enumerate(places.tolist()):
            pixels = self._first(self.reader.pixels, place)
            if pixels is None:
                good[row] = False
            else:
                images.numpy()[row] = pixels
        return images.permute(0, 3, 1, 2), good

    def changed(self, index: Int[Tensor, " b"], change: Change) -> UInt8[Tensor, "b c h w"]:
        """Read images of any size, change each, and stack them."""
        changed = []
        for row, place in enumerate(self.places[index.numpy()].tolist()):
            image = self._first(self.reader.image, place)
            assert image is not None, "images that are changed have substitutes"
            changed.append(change(image, row).permute(1, 2, 0))
        return torch.stack(changed).permute(0, 3, 1, 2)  # channels last, as they are in memory

    def fill_cache(self) -> None:
        """Decode all images into the cache, if there is one, behind a progress bar; those that are there stay.

        It ends early where the disk is full, of which the cache warns.
        """
        if (cache := self.reader.cache) is not None:
            missing = self.places[cache.missing(self.places)]
            for _ in shown(read_all(self.reader, missing), len(missing), "decoding images"):
                if not cache.writes:
                    break

    def _first(self, read: Callable[[int], Any], place: int) -> Any:
        """Read an image, or the first of its substitutes that can be read; None where there are none."""
        found = read(place)
        if found is not None or self.substitutes is None:
            return found
        found = next((image for other in self._others(place) if (image := read(other)) is not None), None)
        if found is None:
            index = self.reader.index
            why = self.reader.notes.own[shown_name(index.name(place))]
            raise DataError(
                f"{index.place}: class {index.classes[index.arrays['labels'][place]]!r} has no readable images "
                f"({why}) to train on: replace them, or move the folder away"
            )
        return found

    def _others(self, place: int) -> Iterator[int]:
        """Give the other images of the same class, in order from an image on."""
        assert self.substitutes is not None
        labels = self.reader.index.arrays["labels"]
        same = self.substitutes[labels[self.substitutes] == labels[place]]
        yield from np.roll(same, -1 - int(np.searchsorted(same, place))).tolist()


def read_all(reader: ImageReader, places: NDArray[np.int64]) -> Iterator[NDArray[np.uint8] | None]:
    """Read images in a thread for each core, and give them in order, or None for those that cannot be read.

    Pillow decodes without Python's lock: threads are as fast as processes, and need not send pixels.
    """
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(threads) as pool:
        try:
            for start in range(0, len(places), 64 * threads):
                yield from pool.map(reader.pixels, places[start : start + 64 * threads].tolist())
        finally:
            pool.shutdown(cancel_futures=True)
