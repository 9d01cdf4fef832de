"""Pack attention weights for a page: 16 or 8 bits for a number, one scale for each row, gzip and base64.

A number is the sign and the square root of its share of the row's largest, so that small weights keep their digits.
High bytes stand before low ones, which gzip packs better.
Axes: q queries, k keys.
"""

import gzip
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

FINE = 3_000_000
"""Weights of a page up to which each has 16 bits: 0.541 is then 0.541. Above, it has 8: 0.54."""


@dataclass(frozen=True)
class Packed:
    """Numbers of all maps of a page.

    Args:
        blob: scales of rows (float32), then high bytes, then low bytes of all maps; gzip in base64.
        bits: of a number.
        scales: of all rows.
        numbers: of all maps.
    """

    blob: str
    bits: int
    scales: int
    numbers: int


def pack(maps: Sequence[Float[np.ndarray, "_ _"]], fine: int = FINE) -> Packed:
    """Pack maps one behind the other.

    Args:
        maps: weights.
        fine: numbers up to which each has 16 bits.
    """
    numbers = sum(each.size for each in maps)
    bits = 16 if numbers <= fine else 8
    scales = [np.abs(each).max(-1, initial=0).astype("<f4") for each in maps]
    levels = [_levels(each, scale, bits) for each, scale in zip(maps, scales, strict=True)]
    every = np.concatenate([each.ravel() for each in levels]) if levels else np.zeros(0, np.int16)
    high = (every >> 8 if bits == 16 else every).astype(np.uint8)
    low = (every & 255).astype(np.uint8) if bits == 16 else np.zeros(0, np.uint8)
    rows = np.concatenate(scales) if scales else np.zeros(0, "<f4")
    data = rows.tobytes() + high.tobytes() + low.tobytes()
    return Packed(b64encode(gzip.compress(data, 6, mtime=0)).decode(), bits, len(rows), numbers)


def _levels(
    weights: Float[np.ndarray, "q k"], scale: Float[np.ndarray, " q"], bits: int
) -> "np.ndarray[tuple[int, ...], np.dtype[np.int32]]":
    """Give whole numbers: 0 … 2^bits - 1 where no weight is negative, else the sign in the first bit."""
    shares = weights / np.where(scale > 0, scale, 1)[:, None]
    most = 2**bits - 1
    if weights.min(initial=0) >= 0:
        return (most * np.sqrt(shares)).round().astype(np.int32)
    half = most // 2
    size = (half * np.sqrt(np.abs(shares))).round().astype(np.int32)
    return np.where(weights < 0, size + half + 1, size)
