"""Packed weights are read back as near as their bits allow."""

import gzip
from base64 import b64decode

import numpy as np
import pytest

from zoo.viz.explorer.packing import Packed, pack

RANDOM = np.random.default_rng(0)


def unpacked(packed: Packed, *shapes: tuple[int, int], signed: bool = False) -> list[np.ndarray]:
    """Read numbers as the script of the page does."""
    data = gzip.decompress(b64decode(packed.blob))
    first = 4 * packed.scales
    scales = np.frombuffer(data[:first], "<f4")
    levels = np.frombuffer(data[first : first + packed.numbers], np.uint8).astype(float)
    if packed.bits == 16:
        levels = levels * 256 + np.frombuffer(data[first + packed.numbers :], np.uint8)
    most = 2.0**packed.bits - 1
    sign = np.ones_like(levels)
    if signed:
        most //= 2
        sign = np.where(levels > most, -1.0, 1.0)
        levels = np.where(levels > most, levels - most - 1, levels)
    found, row, place = [], 0, 0
    for q, k in shapes:
        scale = scales[row : row + q, None]
        part = slice(place, place + q * k)
        found.append((sign[part] * (levels[part] / most) ** 2).reshape(q, k) * scale)
        row, place = row + q, place + q * k
    return found


def test_sixteen_bits_keep_three_digits() -> None:
    maps = [RANDOM.dirichlet(np.ones(k), q).astype(np.float32) for q, k in ((3, 5), (4, 2))]
    packed = pack(maps)
    assert packed.bits == 16
    for found, one in zip(unpacked(packed, (3, 5), (4, 2)), maps, strict=True):
        assert np.abs(found - one).max() < 2e-5


def test_eight_bits_keep_a_hundredth_of_the_largest_of_a_row() -> None:
    weights = RANDOM.dirichlet(np.ones(50), 20).astype(np.float32)
    packed = pack([weights], fine=10)
    (found,) = unpacked(packed, (20, 50))
    assert packed.bits == 8
    assert (np.abs(found - weights).max(1) <= 0.005 * weights.max(1)).all()


@pytest.mark.parametrize("fine", [0, 100])
def test_signs_are_kept(fine: int) -> None:
    weights = np.array([[0.5, -1.0, 0.0], [-0.25, 0.125, 0.0]], np.float32)
    (found,) = unpacked(pack([weights], fine), (2, 3), signed=True)
    np.testing.assert_allclose(found, weights, atol=0.01)
    assert (np.sign(found) == np.sign(weights)).all()


def test_rows_of_zeros_stay_zeros() -> None:
    (found,) = unpacked(pack([np.zeros((2, 3), np.float32)]), (2, 3))
    assert not found.any()
