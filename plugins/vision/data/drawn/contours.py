"""The data source `contours`: pictures of dashed contours and two dots, drawn as they are asked for."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from zoo import ConfigError
from zoo.data import Reference, shown
from zoo.data.sequences import Pathfinder
from zoo.plugins.vision.data.pictures import Looks
from zoo.plugins.vision.image_source import Examples

_BLOCK = 100
"""Pictures that are drawn between two looks at the progress."""


@dataclass(frozen=True, kw_only=True)
class Contours(Looks):
    """Draw pictures whose class says whether two dots lie on one contour (arXiv:1810.08214); see `Pathfinder`."""

    task: Pathfinder
    seed: int
    held_out: tuple[int, int] = (500, 2000)
    """Validation and test pictures."""

    def resized(self, image_size: int) -> "Contours":
        """Enlarge or shrink the pictures."""
        return replace(self, image_size=image_size)

    def train(self, count: int, seed: int) -> Examples:
        """Draw training pictures; each seed has its own stream, and fewer are the first of more."""
        return _drawn(self.task, count, (self.seed, 0, seed))

    def validation(self) -> Examples:
        """Draw the validation pictures, always the same."""
        return _drawn(self.task, self.held_out[0], (self.seed, 1))

    def test(self) -> Examples:
        """Draw the test pictures, always the same."""
        return _drawn(self.task, self.held_out[1], (self.seed, 2))

    def augment(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """Turn each picture by quarters and mirror half of them: no contour has a preferred direction."""
        turns = torch.randint(0, 8, (len(inputs),), generator=generator)
        changed = torch.empty_like(inputs)
        for turn in range(8):
            those = turns == turn
            turned = inputs[those].rot90(turn % 4, (2, 3))
            changed[those] = turned.flip(3) if turn > 3 else turned
        return super().augment(changed, generator)


@lru_cache(maxsize=4)
def _drawn(task: Pathfinder, count: int, seed: tuple[int, ...]) -> Examples:
    blocks = range(0, count, _BLOCK)
    made = [
        task.pictures(min(_BLOCK, count - first), _generator((*seed, first)))
        for first in shown(blocks, len(blocks), f"Drawing {count:,} pictures of contours")
    ]
    levels, joined = (torch.cat(parts) for parts in zip(*made, strict=True))
    brightest = len(task.words) - 2  # of the words, the last is the question
    return Examples((levels * (255 // brightest)).byte()[:, None], joined)


def _generator(seed: tuple[int, ...]) -> torch.Generator:
    return torch.Generator().manual_seed(int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> 1))


def open_contours(argument: str = "", seed: int = 0) -> Contours:
    """Open the source; `SIZE` is the pixels along each side, 32 if none is given.

    Raises:
        ConfigError: If it is no number, or too small for two contours.
    """
    if argument and not argument.isdecimal():
        raise ConfigError(f"contours:{argument}: SIZE is a whole number of pixels from 16 on, such as contours:32")
    task = Pathfinder(size=int(argument)) if argument else Pathfinder()
    return Contours(
        name=f"contours:{task.size}",
        description=(
            "`contours` asks whether two dots lie on the same of two dashed contours: what decides it is spread over "
            "the picture, and no count of grey levels tells it."
        ),
        num_classes=len(task.classes),
        channels=1,
        image_size=task.size,
        fingerprint=f"contours-1-{task.size}-{seed}",
        reference=Reference(task.shortcuts()["guessing"], "guesses"),
        classes=task.classes,
        mean=0.08,
        deviation=0.19,
        task=task,
        seed=seed,
    )
