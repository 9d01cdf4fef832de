"""Readers of the user's images: class folders and NumPy archives, with errors that name what is wrong."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zoo import DataError

_ENDINGS = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"}
_PAIRS = (
    ("x", "y"),
    ("images", "labels"),
    ("data", "target"),
    ("x_train", "y_train"),
    ("train_images", "train_labels"),
)
"""Names of pictures and labels in an archive; the last two are Keras's and MedMNIST's, of which we split the pool."""


def read_folder(path: Path, image_size: int) -> tuple[Tensor, Tensor, list[str], list[str]]:
    """Read class folders of pictures as square RGB bytes: pictures, labels, class names, files skipped.

    Raises:
        DataError: If there is no such folder, it has fewer than two classes, or a class has no picture.
    """
    classes = _class_folders(path)
    pictures, labels, skipped = [], [], []
    for label, folder in enumerate(classes):
        files = sorted(file for file in folder.rglob("*") if file.suffix.lower() in _ENDINGS)
        read = [_read_picture(file, image_size) for file in files]
        skipped += [str(file.relative_to(path)) for file, picture in zip(files, read, strict=True) if picture is None]
        good = [picture for picture in read if picture is not None]
        if not good:
            raise DataError(f"class {folder.name!r} in {path} has no readable image")
        pictures += good
        labels += [label] * len(good)
    stacked = torch.from_numpy(np.stack(pictures).transpose(0, 3, 1, 2).copy())
    return stacked, torch.tensor(labels), [folder.name for folder in classes], skipped


def _class_folders(path: Path) -> list[Path]:
    if not path.is_dir():
        raise DataError(f"folder:{path}: there is no such folder")
    classes = sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if {"train", "test"} <= {folder.name for folder in classes} or {"train", "val"} <= {f.name for f in classes}:
        raise DataError(f"{path} is split already; give the folder of one part: folder:{path / 'train'}")
    if len(classes) < 2:
        found = f"one class ({classes[0].name})" if classes else "no class"
        raise DataError(f"{path} has {found}; a comparison needs a sub-folder for each of at least two classes")
    return classes


def _read_picture(file: Path, image_size: int) -> NDArray[np.uint8] | None:
    from PIL import Image, ImageOps

    try:
        with Image.open(file) as image:
            return np.asarray(ImageOps.fit(image.convert("RGB"), (image_size, image_size)))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # Pillow's words for "not a picture"
        return None


def read_archive(path: Path) -> tuple[Tensor, Tensor, list[str]]:
    """Read a NumPy archive: pictures as square bytes (count, channels, height, width), labels, class names.

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
    return read, torch.from_numpy(codes), classes


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
        pictures = (pictures * np.float32(255)).round().astype(np.uint8)
    if pictures.dtype != np.uint8:
        raise DataError(f"{path}: pictures of type {pictures.dtype}; uint8 or float in [0, 1] wanted")
    return np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))


def _to_labels(labels: NDArray[np.generic], count: int, path: Path) -> tuple[NDArray[np.int64], list[str]]:
    labels = labels.reshape(-1)
    if len(labels) != count:
        raise DataError(f"{path}: {count} pictures but {len(labels)} labels")
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"{path} has one class ({classes[0]}); a comparison needs at least two")
    return codes.astype(np.int64), [str(name) for name in classes]
