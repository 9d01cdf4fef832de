"""Real handwritten digits, of which pictures are drawn, and the look of the cards that they stand on."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Split = Literal["train", "validation", "test"]

HUES = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]], np.float32)  # red, green, blue, yellow
GROUND = 0.35
"""Brightness of a card; the ink of a digit is white."""
NOISE = 0.03
"""Standard deviation, of the pixels of a picture."""

_SPLITS: dict[Split, tuple[int, int]] = {"train": (0, 1297), "validation": (1297, 1547), "test": (1547, 1797)}


class Digits(NamedTuple):
    """Hold handwritten digits: grey values in [0, 1] and their classes."""

    pictures: NDArray[np.float32]
    classes: NDArray[np.int64]


def read_digits(split: Split, seed: int = 0) -> Digits:
    """Read scikit-learn's 1,797 digits, split once into 1,297 / 250 / 250."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    order = np.random.default_rng(seed).permutation(len(bunch.target))[slice(*_SPLITS[split])]
    return Digits((bunch.images[order] / 16).astype(np.float32), bunch.target[order].astype(np.int64))
