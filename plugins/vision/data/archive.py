"""The reader of NumPy archives of pictures and labels, with errors that name what is wrong."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zoo import DataError
from zoo.plugins.vision.read_image import constant_note, to_bytes

_PAIRS = (
    ("x", "y"),
    ("images", "labels"),
    ("data", "target"),
    ("x_train", "y_train"),
    ("train_images", "train_labels"),
)
"""Names of pictures and labels in an archive; the last two are Keras's and MedMNIST's, of which we split the pool."""


def read_archive(path: Path) -> tuple[Tensor, Tensor, list[str], tuple[str, ...]]:
    """Read a NumPy archive: pictures as square bytes (count, channels, height, width), labels, class names, notes.

    Raises:
        DataError: If the file or its arrays cannot be used.
    """
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise DataError(f"npz:{path} is one array; save two with np.savez('data.npz', x=pictures, y=labels)")
        with loaded as archive:
            pair = next((pair for pair in _PAIRS if set(pair) <= set(archive)), None)
            if pair is None:
                raise DataError(f"{path} has arrays {', '.join(archive) or 'none'}; pictures `x` and labels `y` wanted")
            pictures, labels = archive[pair[0]], archive[pair[1]]
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"npz:{path} cannot be read: {error}") from error
    read = torch.from_numpy(_to_bytes(pictures, path))
    codes, classes = _to_labels(labels, len(pictures), path)
    constant = (read.amin((2, 3)) == read.amax((2, 3))).all(1).nonzero().flatten().tolist()
    notes = (constant_note([f"picture {place}" for place in constant], len(read)),) if constant else ()
    return read, torch.from_numpy(codes), classes, notes


def _to_bytes(pictures: NDArray[Any], path: Path) -> NDArray[np.uint8]:
    if pictures.ndim == 3:
        pictures = pictures[..., None]
    if pictures.ndim != 4 or pictures.shape[1] != pictures.shape[2]:
        raise DataError(f"{path}: pictures of shape {pictures.shape}; (count, side, side[, channels]) wanted")
    if not pictures.size:
        raise DataError(f"{path}: pictures of shape {pictures.shape} are none; save at least three of each class")
    if np.issubdtype(pictures.dtype, np.floating):
        low, high = float(pictures.min()), float(pictures.max())
        if not (low >= 0 and high <= 1):
            raise DataError(f"{path}: float pictures from {low:g} to {high:g}; values in [0, 1] wanted, or uint8")
        pictures = to_bytes(pictures, 1)
    elif pictures.dtype in (np.uint16, np.bool_):
        pictures = to_bytes(pictures, 65535 if pictures.dtype == np.uint16 else 1)
    if pictures.dtype != np.uint8:
        raise DataError(f"{path}: pictures of type {pictures.dtype}; uint8, uint16, bool or float in [0, 1] wanted")
    return np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))


def _to_labels(labels: NDArray[np.generic], count: int, path: Path) -> tuple[NDArray[np.int64], list[str]]:
    labels = labels.reshape(-1)
    if len(labels) != count:
        raise DataError(f"{path}: {count} pictures but {len(labels)} labels")
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"{path} has one class ({classes[0]}); a comparison needs at least two")
    return codes.astype(np.int64), [str(name) for name in classes]
