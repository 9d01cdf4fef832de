"""Colour map viridis (CC0), which is read alike with all kinds of colour vision, and PNG files made with it.

Axes: h rows of pixels, w columns, c channels.
"""

import struct
import zlib

import numpy as np
from jaxtyping import Float, UInt8

_KNOTS = (
    "440154 470d60 48186a 482374 472d7b 453781 424086 3e4989 3b528b 375b8d 33638d 2f6b8e 2c728e 297a8e 26828e 23898e "
    "21908c 1f978b 1f9f88 21a685 27ad81 31b57b 3ebc74 4dc26c 5cc863 6ece58 82d34d 95d840 aadc32 c0df25 d5e21a eae51a "
    "fde725"
)
"""Each eighth of the 256 colours."""


def viridis() -> UInt8[np.ndarray, "256 3"]:
    """Give the 256 colours, from the least value to the largest."""
    knots = np.array([list(bytes.fromhex(knot)) for knot in _KNOTS.split()], float)
    at = np.linspace(0, len(knots) - 1, 256)
    mixed = [np.interp(at, np.arange(len(knots)), channel) for channel in knots.T]
    return np.stack(mixed, 1).round().astype(np.uint8)


def coloured(values: Float[np.ndarray, "h w"]) -> UInt8[np.ndarray, "h w 3"]:
    """Colour values of 0 … 1."""
    return viridis()[(255 * np.clip(values, 0, 1)).round().astype(int)]


def png(pixels: UInt8[np.ndarray, "h w 3"]) -> bytes:
    """Write pixels as a PNG file."""
    height, width = pixels.shape[:2]
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)  # filter 0: none
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
