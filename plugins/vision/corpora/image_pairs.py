"""Pairs of a picture and a label that a program gives: PIL images, arrays, paths, and tensors."""

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from zoo import DataError, ModelSpec
from zoo.core import InputError
from zoo.data import Corpus, Pairs, collated_corpus, is_pair, label_cell
from zoo.plugins.vision.corpora.image_corpus import adapt
from zoo.plugins.vision.corpora.image_table import open_table
from zoo.plugins.vision.data.arrays import read_arrays
from zoo.plugins.vision.data.pictures import of_arrays
from zoo.plugins.vision.read_image import read_image, to_bytes

_LOOKED_AT = 8
"""First pictures that tell whether tensors are prepared for the model already."""


def open_pairs(pairs: Pairs, spec: ModelSpec, seed: int, tokenizer: str) -> Corpus:
    """Make a corpus of pictures and labels.

    A picture is a path, a PIL image, an array (h, w[, c]) or a tensor (c, h, w), of bytes or of floats in 0 … 1; kept
    as PNG in the cache. Arrays `(X, y)` are read as those of the source `npz`. Tensors of other floats are taken
    for prepared by the user, and are read as they are.

    Raises:
        DataError: If an item is no pair, a picture cannot be read, or labels are none.
    """
    if all(hasattr(items, "targets") and hasattr(items, "inputs") for items in pairs.parts.values()):
        inputs = [items.inputs for items in pairs.parts.values()]
        if all(hasattr(each, "shape") for each in inputs):
            given = {part: (_array(items.inputs), _array(items.targets)) for part, items in pairs.parts.items()}
            source = of_arrays(read_arrays(given, pairs.name), "arrays", pairs.name, seed)
            return adapt(source, spec, seed, tokenizer)
    firsts = [item[0] for item in pairs.first(_LOOKED_AT) if is_pair(item)]
    if firsts and all(isinstance(each, Tensor) for each in firsts) and any(map(_is_prepared, firsts)):
        channels, *size = firsts[0].shape[-3:]
        fitting: dict[str, Any] = {"in_chans": channels}
        if "image_size" in spec.config:
            fitting["image_size"] = size[0] if len(set(size)) == 1 else tuple(size)
        return collated_corpus(pairs, spec, seed, **fitting)
    return open_table(pairs.table(image=_cell, label=label_cell), spec, seed, tokenizer)


def _array(values: Any) -> Any:
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)


def _is_prepared(image: Tensor) -> bool:
    """Tell whether a tensor holds floats beyond 0 … 1."""
    return image.is_floating_point() and image.ndim == 3 and bool((image.min() < 0) | (image.max() > 1))


def _cell(image: Any, label: Any, place: str) -> dict[str, Any]:
    """Give the path of a picture, or its content as PNG."""
    if isinstance(image, str | Path):
        path = Path(image).expanduser().absolute()
        if not path.is_file():
            raise DataError(f"{place}: there is no file {str(image)!r}")
        return {"bytes": None, "path": str(path)}
    file = BytesIO()
    try:
        read_image(_of_bytes(image)).save(file, "PNG", compress_level=1)
    except InputError as error:
        raise DataError(f"{place}: {error}") from error
    return {"bytes": file.getvalue(), "path": None}


def _of_bytes(image: Any) -> Any:
    """Give an image whose floats are bytes.

    Raises:
        InputError: If they are not of 0 … 1.
    """
    kind = getattr(image, "dtype", None)
    if isinstance(image, Tensor) and image.is_floating_point():
        pixels: Any = image.detach().float().cpu().numpy()
    elif isinstance(kind, np.dtype) and np.issubdtype(kind, np.floating):
        pixels = np.asarray(image)
    else:
        return image
    low, high = float(pixels.min()), float(pixels.max())
    if not (low >= 0 and high <= 1):
        raise InputError(
            f"a picture of {kind} from {low:g} to {high:g}: floats are of 0 … 1, before they are normalised; or give "
            "uint8"
        )
    scaled = to_bytes(pixels, 1)
    return torch.from_numpy(scaled) if isinstance(image, Tensor) else scaled
