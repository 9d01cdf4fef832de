"""The data source `cards`: pictures made as they are asked for."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch

from zoo.data import Reference
from zoo.plugins.shared.images.digits import Split, read_digits
from zoo.plugins.vision.data.drawn.cards_dataset import NUM_CLASSES, SIDE, ignoring_the_cue, make_cards
from zoo.plugins.vision.data.pictures import Looks
from zoo.plugins.vision.image_source import Examples


@dataclass(frozen=True, kw_only=True)
class Cards(Looks):
    """Make pictures as they are asked for; the digits in them are split, so no test digit was trained on."""

    seed: int
    held_out: tuple[int, int] = (500, 2000)
    """Validation and test pictures."""

    def resized(self, image_size: int) -> "Cards":
        """Enlarge or shrink the pictures."""
        return replace(self, image_size=image_size)

    def train(self, count: int, seed: int) -> Examples:
        """Make training pictures; each seed has its own stream."""
        return self.made("train", count, (self.seed, 0, seed))

    def validation(self) -> Examples:
        """Make the validation pictures, always the same."""
        return self.made("validation", self.held_out[0], (self.seed, 1))

    def test(self) -> Examples:
        """Make the test pictures, always the same."""
        return self.made("test", self.held_out[1], (self.seed, 2))

    def made(self, split: Split, count: int, seed: tuple[int, ...]) -> Examples:
        """Make pictures of the digits of a split; the same ones are kept."""
        return _made(split, count, seed)


@lru_cache(maxsize=4)
def _made(split: Split, count: int, seed: tuple[int, ...]) -> Examples:
    pictures, labels = make_cards(read_digits(split, seed[0]), count, seed)
    return Examples(torch.from_numpy(np.ascontiguousarray(pictures)), torch.from_numpy(labels))


def open_cards(argument: str = "", seed: int = 0) -> Cards:
    """Open the embedded source: a digit to read and a cue to bind it to."""
    return Cards(
        name="cards",
        description=(
            "`cards` was designed to need both skills: reading a shifted handwritten digit, where convolution saves "
            "examples, and finding the digit whose hue a far cue names, one step of attention. On other tasks made of "
            "the same digits the CNN was ahead; `--data digits` shows that side."
        ),
        num_classes=NUM_CLASSES,
        channels=3,
        image_size=SIDE,
        fingerprint=f"cards-1-{seed}",
        reference=Reference(ignoring_the_cue(), "reads the digits, ignores the cue"),
        mean=0.1,
        seed=seed,
    )
