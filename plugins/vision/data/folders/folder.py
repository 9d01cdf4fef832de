"""The data source `folder:PATH`: class folders of pictures, of any number; a picture is read when it is asked for."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from zoo import DataError
from zoo.plugins.shared.images.digits import Split
from zoo.plugins.vision.data.folders.folder_index import FolderIndex
from zoo.plugins.vision.data.folders.lazy_images import ImageReader, LazyImages, read_all
from zoo.plugins.vision.data.folders.pixel_cache import open_cache
from zoo.plugins.vision.data.pictures import Pictures
from zoo.plugins.vision.image_source import Examples

SIZE = 32
_SAMPLE = 512
"""Training pictures that mean and deviation are measured on: they are within 0.02 of those of all."""


@dataclass(frozen=True, kw_only=True)
class Folder(Pictures):
    """Pictures of a folder at one size.

    Args:
        index: of the pictures.
        reader: of them.
        seed: of the split.
        cache: whether decoded pictures are cached; None for where they fit in a quarter of the free memory.
        crops: whether training pictures are read as crops are taken of them: whole, or, where a cache is wanted, an
            eighth larger than crops are, as the usual 256 pixels for crops of 224.
    """

    index: FolderIndex
    reader: ImageReader
    seed: int
    cache: bool | None = None
    crops: bool = False

    @classmethod
    def open(cls, path: Path, image_size: int, seed: int) -> "Folder":
        """List a folder, and measure mean and deviation if that was not done before.

        Raises:
            DataError: If the folder cannot be used.
        """
        return cls.of(FolderIndex.open(path), image_size, seed, None)

    @classmethod
    def of(cls, index: FolderIndex, image_size: int, seed: int, cache: bool | None, crops: bool = False) -> "Folder":
        """Give the pictures of an index at a size."""
        reader = ImageReader(index, image_size, open_cache(index, image_size, cache))
        larger = -(-image_size * 8 // 7)
        training = ImageReader(index, larger, open_cache(index, larger, bool(cache))) if crops else reader
        parts, short = index.parts(seed), index.title.removeprefix("folder:")
        mean, deviation = index.kept(f"moments-{image_size}-{seed}", lambda: _moments(reader, parts["train"]))
        labels = torch.from_numpy(np.array(index.arrays["labels"]))

        def examples(part: Split) -> Examples:
            images = LazyImages(reader, parts[part])
            if part == "train":
                images = LazyImages(training, parts[part], parts[part])
            return Examples(images, labels[torch.from_numpy(parts[part])])

        return cls(
            name=index.title,
            description=f"`{short}` holds {len(index):,} pictures of {len(index.classes)} classes, your own.",
            num_classes=len(index.classes),
            channels=3,
            image_size=image_size,
            fingerprint=f"{index.fingerprint}-{seed}",
            limit=len(parts["train"]),
            classes=index.classes,
            mean=mean,
            deviation=deviation,
            mirror=True,
            splits={"train": examples("train"), "validation": examples("validation"), "test": examples("test")},
            index=index,
            reader=reader,
            seed=seed,
            cache=cache,
            crops=crops,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Tell what was left out, and which pictures were found that cannot be read."""
        return self.index.notes + self.reader.notes.texts(len(self.index))

    def resized(self, image_size: int) -> "Folder":
        """Read the files at another size."""
        return self if image_size == self.image_size else self._with(image_size=image_size)

    def for_crops(self, crops: bool) -> "Folder":
        """Read training pictures as crops are taken of them, or not."""
        return self if crops == self.crops else self._with(crops=crops)

    def cached(self, wanted: bool) -> "Folder":
        """Decode all pictures into the cache now, behind a progress bar, or do without a cache.

        What was decoded before is not decoded again, also where that was interrupted.
        """
        folder = self._with(cache=wanted)
        for part in folder.splits.values():
            part.inputs.fill_cache()
        return folder

    def _with(self, **changes: Any) -> "Folder":
        now = {name: getattr(self, name) for name in ("image_size", "seed", "cache", "crops")}
        return Folder.of(self.index, **(now | changes))


def open_folder(argument: str, seed: int = 0, image_size: int = SIZE) -> Folder:
    """Open a folder with one sub-folder of pictures for each class."""
    return Folder.open(Path(argument).expanduser(), image_size, seed)


def _moments(reader: ImageReader, train: NDArray[np.int64]) -> tuple[float, float]:
    """Measure mean and deviation of a sample of the training pictures, the same whoever measures."""
    sample = reader.index.sample(train, _SAMPLE)
    read = [pixels for pixels in read_all(reader, sample) if pixels is not None]
    if not read:
        why = next(iter(reader.notes.own.values()))
        raise DataError(f"{reader.index.place}: none of {len(sample):,} training pictures can be read ({why})")
    total = sum(pixels.size for pixels in read)
    mean = sum(int(pixels.sum(dtype=np.int64)) for pixels in read) / total
    square = sum(int(np.square(pixels, dtype=np.int64).sum()) for pixels in read) / total
    return mean / 255, max((square - mean**2) ** 0.5 / 255, 1e-3)
