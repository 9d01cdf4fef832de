"""Arrays of pictures and labels, in parts: what layout, range and classes they have, and pictures as bytes.

Axes: n pictures, h and w pixels, c channels, k classes.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from numpy.typing import NDArray
from torch import Tensor

from zoo import DataError
from zoo.data import for_training
from zoo.plugins.vision.read_image import constant_note, to_bytes

Given = Mapping[str, tuple[NDArray[Any], NDArray[Any]]]
"""Pictures and labels of `train`, and perhaps of `validation` and `test`."""
_WHITE = {"uint8": 255, "uint16": 65535, "bool": 1}


class ImageArrays(NamedTuple):
    """Labelled pictures as bytes (n, c, h, w), in the parts that are given."""

    parts: dict[str, tuple[Tensor, Tensor]]
    classes: list[str]
    notes: tuple[str, ...]
    understood: str
    """Size, layout and range, as they were understood."""


def read_arrays(given: Given, name: str) -> ImageArrays:
    """Read pictures (n, h, w), (n, h, w, c) or (n, c, h, w), and labels (n), (n, 1) or one-hot (n, k).

    Pixels are uint8, uint16, bool, whole numbers or floats; numbers whose type does not tell the range are of 0 … 1,
    0 … 255 or 0 … 65535 by the least that holds those of all parts (65535 only for whole numbers).

    Args:
        given: arrays of each part.
        name: of the data, for errors.

    Raises:
        DataError: If arrays cannot be used; the text names the part.
    """
    shapes = {part: _last(pictures, name) for part, (pictures, _) in given.items()}
    sizes = {pictures.shape[1:] for pictures in shapes.values()}
    kinds = {str(pictures.dtype) for pictures, _ in given.values()}
    if len(sizes) > 1 or len(kinds) > 1:
        found = ", ".join(f"{part} {x.shape} of {x.dtype}" for part, (x, _) in given.items())
        raise DataError(f"{name}: parts of different pictures, {found}: give all one size and type")
    white = _white([pictures for pictures, _ in given.values()], name)
    labels, classes = _classes({part: _labels(y, len(shapes[part]), name) for part, (_, y) in given.items()}, name)
    parts = {
        part: (torch.from_numpy(_bytes(pictures, white)), torch.from_numpy(labels[part]))
        for part, pictures in shapes.items()
    }
    return ImageArrays(parts, classes, _notes(parts), _understood(given["train"][0], shapes["train"], white))


def _last(pictures: NDArray[Any], name: str) -> NDArray[Any]:
    """Give pictures (n, h, w, c), whatever their layout."""
    if not pictures.size:
        raise DataError(f"{name}: pictures of shape {pictures.shape} are none; save at least three of each class")
    if pictures.ndim == 3:
        pictures = pictures[..., None]
    if pictures.ndim != 4 or (pictures.shape[1] != pictures.shape[2] != pictures.shape[3]):
        raise DataError(
            f"{name}: pictures of shape {pictures.shape}; (count, side, side[, channels]) or (count, channels, side, "
            "side) wanted"
        )
    return pictures if pictures.shape[1] == pictures.shape[2] else pictures.transpose(0, 2, 3, 1)


def _white(pictures: list[NDArray[Any]], name: str) -> int:
    """Give the value of white, the same for all parts."""
    kind = pictures[0].dtype
    if str(kind) in _WHITE:
        return _WHITE[str(kind)]
    if not np.issubdtype(kind, np.floating) and not np.issubdtype(kind, np.integer):
        raise DataError(f"{name}: pictures of type {kind}; uint8, uint16, bool, whole numbers or floats wanted")
    low, high = min(float(x.min()) for x in pictures), max(float(x.max()) for x in pictures)
    whole = np.issubdtype(kind, np.integer)
    limits = (255, 65535) if whole else (1, 255)
    white = next((limit for limit in limits if low >= 0 and high <= limit), None)
    if white is None:
        raise DataError(
            f"{name}: {kind} pictures from {low:g} to {high:g}; 0 … {limits[0]} or 0 … {limits[1]} wanted, before they "
            "are normalised, or uint8"
        )
    return white


def _bytes(pictures: NDArray[Any], white: int) -> UInt8[np.ndarray, "n c h w"]:
    pixels = pictures if pictures.dtype == np.uint8 else to_bytes(pictures, white)
    return np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))


def _labels(labels: NDArray[Any], count: int, name: str) -> NDArray[Any]:
    """Give labels (n), of one-hot rows the place of the one."""
    if labels.ndim == 2 and labels.shape[1] > 1 and len(labels) == count:
        if not (((labels == 0) | (labels == 1)).all() and (labels.sum(1) == 1).all()):
            raise DataError(
                f"{name}: labels of shape {labels.shape} are not one-hot; one class for each picture wanted"
            )
        labels = labels.argmax(1)
    labels = labels.reshape(-1)
    if len(labels) != count:
        raise DataError(f"{name}: {count} pictures but {len(labels)} labels")
    if np.issubdtype(labels.dtype, np.floating):
        if (odd := labels[labels != np.floor(labels)]).size:
            raise DataError(f"{name}: label {odd[0]:g} is a fraction; a label is a name or a whole number")
        labels = labels.astype(np.int64)
    return labels


def _classes(found: dict[str, NDArray[Any]], name: str) -> tuple[dict[str, Int64[np.ndarray, " n"]], list[str]]:
    """Number the classes of the training, and give the number of each label."""
    learned = [found["train"]] if for_training() else [*found.values()]
    values = np.unique(np.concatenate(learned))
    classes = [str(value) for value in values]
    if len(classes) < 2 and for_training():
        raise DataError(f"{name} has one class ({classes[0]}): give examples of at least two")
    places = {each: place for place, each in enumerate(classes)}
    numbered = {}
    for part in found:
        texts = [str(value) for value in found[part].tolist()]
        if strange := sorted(set(texts) - places.keys()):
            raise DataError(
                f"{name}: label{'s' if len(strange) > 1 else ''} {', '.join(strange[:5])} of {part} are in no training "
                f"example, which have {', '.join(classes[:20])}"
            )
        numbered[part] = np.array([places[text] for text in texts], np.int64)
    return numbered, classes


def _notes(parts: Mapping[str, tuple[Tensor, Tensor]]) -> tuple[str, ...]:
    found, total = [], 0
    for part, (read, _) in parts.items():
        constant = (read.amin((2, 3)) == read.amax((2, 3))).all(1).nonzero().flatten().tolist()
        found += [f"picture {place}" + ("" if part == "train" else f" of {part}") for place in constant]
        total += len(read)
    return (constant_note(found, total),) if found else ()


def _understood(given: NDArray[Any], last: NDArray[Any], white: int) -> str:
    *_, height, width, channels = last.shape
    colours = {1: "grey", 3: "RGB", 4: "RGBA"}.get(channels, f"{channels} channels")
    layout = "(count, height, width)"
    if given.ndim == 4:
        first = given.shape[1:] != last.shape[1:]
        layout = "(count, channels, height, width)" if first else "(count, height, width, channels)"
    return f"{height} x {width} pixels, {colours}, as {layout} of {given.dtype} in 0 … {white}"
