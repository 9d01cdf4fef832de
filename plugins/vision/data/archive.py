"""The reader of NumPy archives of pictures and labels, with their own splits where they have some."""

import math
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zoo import DataError
from zoo.data import available_memory
from zoo.plugins.vision.data.arrays import Given, ImageArrays, read_arrays

_PAIRS = (("x", "y"), ("X", "y"), ("images", "labels"), ("data", "target"))
"""Names of pictures and labels in an archive of one part, or with a part in front or behind."""
_PARTS = {"train": ("train",), "validation": ("val", "validation", "valid", "dev"), "test": ("test",)}


def read_archive(path: Path) -> ImageArrays:
    """Read a NumPy archive: `x` and `y`, or these of each part, as Keras and MedMNIST name them.

    `x_train`, `y_train`, `x_test`, `y_test` (Keras), or `train_images`, `train_labels`, `val_images`, … (MedMNIST).

    Raises:
        DataError: If the file or its arrays cannot be used.
    """
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise DataError(f"npz:{path} is one array; save two with np.savez('data.npz', x=pictures, y=labels)")
        with loaded as archive:
            found = _found(archive.files, path)
            with zipfile.ZipFile(path) as members:
                for name in dict.fromkeys(name for pair in found.values() for name in pair):
                    _check_size(members, name, path)
            given: Given = {part: (archive[inputs], archive[labels]) for part, (inputs, labels) in found.items()}
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"npz:{path} cannot be read: {error}") from error
    for part, (pictures, _) in given.items():
        if part != "train" and not len(pictures):
            raise DataError(f"{path}: {part} has no pictures: leave its arrays out, and it is drawn from the training")
    return read_arrays(given, str(path))


def _check_size(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    """Check what an array's header claims, before memory is taken for it.

    Raises:
        DataError: If that is not what the file holds, or more than there is memory for.
    """
    member = name if name in archive.namelist() else f"{name}.npy"
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, kind = read(file)
    claimed, held = math.prod(shape) * kind.itemsize, archive.getinfo(member).file_size
    told = f"npz:{path}: {name!r} of shape {shape} and type {kind} has {claimed:,} bytes"
    if claimed > held:
        raise DataError(f"{told}, and the file holds {held:,}: it is cut off or broken; save it again")
    if (free := available_memory()) is not None and claimed > free:
        raise DataError(f"{told}, more than the {free:,} of free memory: give fewer, or pictures in a folder")


def _found(names: Iterable[str], path: Path) -> Mapping[str, tuple[str, str]]:
    """Find the names of pictures and labels of each part; one part alone is for training."""
    known = set(names)
    for inputs, labels in _PAIRS:
        parts = {
            part: pair
            for part, words in _PARTS.items()
            for word in words
            for pair in ((f"{inputs}_{word}", f"{labels}_{word}"), (f"{word}_{inputs}", f"{word}_{labels}"))
            if set(pair) <= known
        }
        if "train" in parts:
            return parts
    pair: Any = next((pair for pair in _PAIRS if set(pair) <= known), None)
    if pair is None:
        raise DataError(f"{path} has arrays {', '.join(names) or 'none'}; pictures `x` and labels `y` wanted")
    return {"train": pair}
