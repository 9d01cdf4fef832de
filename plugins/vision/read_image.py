"""The reader of images: files, PIL images, arrays and tensors become PIL images of 8 bits, upright, without alpha."""

import math
import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zoo.core import InputError
from zoo.data import described_item

if TYPE_CHECKING:
    from PIL.Image import Image

_FLOAT_LIMITS = (1, 255, 65535)
_INTEGER_LIMITS = (255, 65535, 2**31 - 1, 2**32 - 1)
"""White in pixels whose type does not tell it: the least of these that no pixel exceeds."""
_BITS, _PHOTOMETRIC, _SAMPLE_FORMAT = 258, 262, 339
"""Tags of TIFF 6.0; photometric 0 is white at 0, sample format 1 is unsigned."""
_OVERSHOOT, _SILENT = (-0.1, 1.5), 0.01
"""Floats in this range are of 0 … 1, resampled: cubic and Lanczos kernels overshoot at edges."""
_BYTES_OVERSHOOT = 300
_NAMED = 5
_UPLOADED = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM")
"""Formats of bytes in memory, which may be a stranger's: for others, Pillow runs programs (Ghostscript for EPS)."""


def read_image(image: Any, mode: str = "RGB") -> "Image":
    """Read an image as a PIL image of 8 bits: upright by its EXIF, scaled by its own depth, on white where transparent.

    Pixels of 32 bits do not tell their depth. They are scaled by the least of 255, 65535, 2^31-1 and 2^32-1 that holds
    them all. Floats from -0.1 to 1.5 are of 0 … 1 and clipped, as resampling overshoots; a warning names the file where
    they overshoot by more than 0.01. Other floats are of 0 … 255, clipped, up to 300, else of 0 … 65535.

    Args:
        image: a path, bytes in memory (PNG, JPEG, GIF, WebP, BMP, TIFF or netpbm), a PIL image, an array
            (h, w[, c]) or a tensor (c, h, w) of bytes, uint16 or bool.
        mode: "L" (grey), "RGB", or "RGBA", which keeps alpha.

    Raises:
        InputError: If it is none of these, or its pixels are negative, not finite or beyond every depth.
        OSError: If a file is not there, is no image, or lacks its end.
    """
    from PIL import Image

    if isinstance(image, Image.Image):
        return _converted(image, mode)
    if not isinstance(image, str | Path | BytesIO):
        return _converted(_of_array(image), mode)
    try:
        with Image.open(image, formats=_formats(image)) as opened:
            return _converted(opened, mode)
    except (ValueError, SyntaxError, Image.DecompressionBombError) as error:  # Pillow's words for "not a picture"
        raise InputError(f"{str(image)!r} cannot be read: {error}") from error


def pixels_of(image: "str | Path | BytesIO") -> int:
    """Count the pixels of an image file, as its header tells, also where they are so many that Pillow refuses them.

    Raises:
        InputError: If this is no image file.
    """
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # nothing is decoded
            with Image.open(image, formats=_formats(image)) as opened:
                return math.prod(opened.size)
    except Image.DecompressionBombError as error:
        if told := re.search(r"\((\d+) pixels\)", str(error)):  # Pillow tells the size in its sentence only
            return int(told[1])
        raise InputError(f"{str(image)!r} cannot be read: {error}") from error
    except (OSError, ValueError, SyntaxError) as error:
        raise InputError(f"{str(image)!r} cannot be read: {error}") from error


def _formats(image: "str | Path | BytesIO") -> tuple[str, ...] | None:
    return _UPLOADED if isinstance(image, BytesIO) else None


def name_of(image: Any, place: int) -> str:
    """Name an image for messages: its path, or its place in the list."""
    return str(image if isinstance(image, str | Path) else getattr(image, "filename", "") or f"image {place}")


def is_constant(image: "Image") -> bool:
    """Tell whether all pixels of an image are equal."""
    width, height = image.size
    if image.getpixel((0, 0)) != image.getpixel((width // 2, height // 2)):
        return False  # nearly always, and a hundred times faster
    extrema: Any = image.getextrema()
    return all(low == high for low, high in ([extrema] if len(image.getbands()) == 1 else extrema))


def constant_note(names: Sequence[str], total: int, what: str = "images") -> str:
    """Count and name the images that are constant after reading, of so many images or files."""
    which = f"{len(names)} of {total} {what} {'is' if len(names) == 1 else 'are'} constant"
    return f"{which}, all pixels equal after reading: {listed(names)}"


def listed(names: Sequence[str]) -> str:
    """List the first names, and count the others."""
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def to_bytes(pixels: NDArray[Any], white: int) -> NDArray[np.uint8]:
    """Scale pixels of 0 … `white` to bytes."""
    return (pixels * np.float32(255 / white)).round().astype(np.uint8)


def _of_array(image: Any) -> "Image":
    from PIL import Image

    array = image.detach().cpu().numpy() if isinstance(image, Tensor) and image.dtype != torch.bfloat16 else image
    if isinstance(image, Tensor) and image.ndim == 3:
        array = array.transpose(1, 2, 0)
    white = {"uint8": 255, "uint16": 65535, "bool": 1}.get(str(getattr(array, "dtype", "")))
    if white is None or not (array.ndim == 3 or (array.ndim == 2 and not isinstance(image, Tensor))):
        typed = hasattr(image, "dtype")
        kind = f"{type(image).__name__} of {image.dtype} {tuple(image.shape)}" if typed else described_item(image)
        raise InputError(
            f"{kind} is no image: give a path, a PIL image, or bytes as (h, w, c) array or (c, h, w) tensor"
        )
    array = array if white == 255 else to_bytes(array, white)
    return Image.fromarray(array[..., 0] if array.shape[2:] == (1,) else array)


def _converted(image: "Image", mode: str) -> "Image":
    from PIL import ExifTags, Image, ImageOps

    image.load()
    read = image
    with suppress(Exception):  # whatever Pillow raises of broken EXIF: the pixels are good
        if image.getexif().get(ExifTags.Base.Orientation, 1) != 1:  # an image that is upright would be copied
            read = ImageOps.exif_transpose(image)
    if read.mode in ("I", "F") or read.mode.startswith("I;"):
        read = Image.fromarray(_scaled(read, image.format, getattr(image, "tag_v2", {})))
    if read.mode in ("LAB", "La"):  # Pillow converts these to few others
        read = read.convert("RGB" if read.mode == "LAB" else "LA")
    if mode != "RGBA" and read.has_transparency_data:
        read = Image.alpha_composite(Image.new("RGBA", read.size, "white"), read.convert("RGBA"))
    return read if read.mode == mode else read.convert(mode)  # which would copy it


def _clipped(pixels: NDArray[np.float32], image: "Image") -> NDArray[np.float32]:
    """Clip floats that overshoot 0 … 1 or 255."""
    low, high = pixels.min(), pixels.max()
    if _OVERSHOOT[0] <= low and high <= _OVERSHOOT[1]:
        if max(-low, high - 1) > _SILENT:
            name = getattr(image, "filename", "") or "an image"
            warnings.warn(f"{name}: pixels from {low:.3g} to {high:.3g} are clipped to 0 … 1", stacklevel=5)
        return pixels.clip(0, 1)
    return pixels.clip(None, 255) if high <= _BYTES_OVERSHOOT else pixels


def _scaled(image: "Image", kind: str | None, tags: Any) -> NDArray[np.uint8]:
    """Scale pixels of more than 8 bits by the depth of the file; Pillow itself clips them at 255."""
    pixels: NDArray[Any] = np.asarray(image)
    bits, signed = tags.get(_BITS, (32 if image.mode in "IF" else 16,))[0], tags.get(_SAMPLE_FORMAT, (1,))[0] == 2
    if kind == "TIFF" and image.mode == "I" and not signed:
        pixels = pixels.view(np.uint32)
    limits: tuple[int, ...]
    if image.mode == "F":
        pixels, limits = _clipped(pixels, image), _FLOAT_LIMITS
    elif bits == 32 and kind != "PPM":  # Pillow scales the integers of netpbm's files to 16 bits
        limits = _INTEGER_LIMITS
    else:
        limits = (2 ** (min(bits, 16) - signed) - 1,)
    low, high = pixels.min(), pixels.max()
    white = next((limit for limit in limits if low >= 0 and high <= limit), None)
    if white is None:
        raise InputError(f"pixels from {low:g} to {high:g}: write them from 0 to {', '.join(map(str, limits))}")
    read = to_bytes(pixels, white)
    if tags.get(_PHOTOMETRIC) == 0:
        read = 255 - read
    clear = image.info.get("transparency")
    return np.where(pixels == clear, np.uint8(255), read) if isinstance(clear, int) else read
