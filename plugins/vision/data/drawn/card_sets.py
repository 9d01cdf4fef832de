"""The data source `cards-digits`: the pictures of `cards`, with all digits that are on them; the cue does not count."""

from functools import lru_cache

import numpy as np
import torch

from zoo.plugins.shared.images.digits import Split, read_digits
from zoo.plugins.vision.data.drawn.cards import Cards
from zoo.plugins.vision.data.drawn.cards_dataset import NUM_CLASSES, SIDE, make_card_sets
from zoo.plugins.vision.image_source import Examples

DIGITS = tuple(map(str, range(NUM_CLASSES)))
SETS = (np.arange(2**NUM_CLASSES)[:, None] >> np.arange(NUM_CLASSES) & 1).astype(np.float32)
"""Which digits are in each set: set number s has digit d where bit d of s is 1."""


class CardSets(Cards):
    """Make pictures as they are asked for; their class is the number of the set of digits, a row of `SETS`."""

    def made(self, split: Split, count: int, seed: tuple[int, ...]) -> Examples:
        return _made(split, count, seed)


@lru_cache(maxsize=4)
def _made(split: Split, count: int, seed: tuple[int, ...]) -> Examples:
    pictures, there = make_card_sets(read_digits(split, seed[0]), count, seed)
    codes = there @ (1 << np.arange(NUM_CLASSES))
    return Examples(torch.from_numpy(np.ascontiguousarray(pictures)), torch.from_numpy(codes.astype(np.int64)))


def open_card_sets(argument: str = "", seed: int = 0) -> CardSets:
    """Open pictures of one to four digits; which are there is asked."""
    return CardSets(
        name="cards-digits",
        description="`cards-digits` are pictures of one to four digits by hand; which of the ten are there is asked.",
        num_classes=len(SETS),
        channels=3,
        image_size=SIDE,
        fingerprint=f"cards-digits-1-{seed}",
        mean=0.1,
        seed=seed,
    )
