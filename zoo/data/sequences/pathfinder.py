"""Pathfinder, arXiv:1810.08214, with the sizes of the Long Range Arena (arXiv:2011.04006): are two dots joined?

Two long dashed contours begin near each other, short ones lie between them. One dot is at the end of a long contour,
the other at the beginning of the same one or of its neighbour, which is about as far. Which of the two is decided after
the contours are drawn, so that no count of pixels tells the answer. Contours touch nowhere, nor between their dashes,
which the published generator does not ensure.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zoo.core import IGNORED
from zoo.data.sequences.contours import EDGE, FINE, PROPOSED, STEP, Point, Square, ahead
from zoo.data.sequences.task import Drawn, numbered
from zoo.errors import ConfigError

DASH, DOT = 2.0, 1.5
"""Pixels of the length of a dash, which is in the middle of a step, and of the radius of a dot."""
LEVELS = FINE**2 + 1
"""Grey levels: how many of the cells of a pixel are lit."""
_RETRIALS = 4
_ALONG = np.linspace(0, 1, 9)[:, None]
_SIDE = np.arange(-DOT, DOT + 1 / FINE, 1 / FINE)
_DISC = np.array([(row, column) for row in _SIDE for column in _SIDE if row**2 + column**2 <= DOT**2])


class Scene(NamedTuple):
    """Hold contours with dots.

    Args:
        contours: points of each; the two long ones come first.
        dots: two points.
        joined: whether they are on one contour.
    """

    contours: Sequence[Sequence[Point]]
    dots: NDArray[np.float64]
    joined: bool


@dataclass(frozen=True, kw_only=True)
class Pathfinder:
    """Tell whether two dots lie on the same contour; pixels row by row, the question in the place of the last.

    A picture of 32 pixels a side has contours of 14 dashes and of 4, as in the arena; smaller ones have fewer. With 16
    pixels the distance of the dots alone, which is a little longer between the ends of one contour, is right in 58 %.

    Args:
        size: pixels along each side.

    Raises:
        ConfigError: If there is no room for two contours.
    """

    size: int = 32

    def __post_init__(self) -> None:
        if self.size < 16:
            raise ConfigError(f"size={self.size}: two contours need 16 pixels along each side")

    @property
    def words(self) -> tuple[str, ...]:
        """See `SequenceTask.words`."""
        return (*numbered("", LEVELS), "?")

    @property
    def classes(self) -> tuple[str, ...]:
        """See `SequenceTask.classes`."""
        return "apart", "joined"

    @property
    def length(self) -> int:
        """See `SequenceTask.length`."""
        return self.size**2

    def draw(self, count: int, generator: torch.Generator) -> Drawn:
        """See `SequenceTask.draw`."""
        pictures, joined = self.pictures(count, generator)
        ids = pictures.flatten(1)
        targets = torch.full_like(ids, IGNORED)
        ids[:, -1], targets[:, -1] = LEVELS, joined
        return Drawn(ids, torch.full((count,), self.length), targets)

    def shortcuts(self) -> Mapping[str, float]:
        """See `SequenceTask.shortcuts`."""
        return {"guessing": 0.5}

    def pictures(self, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw grey levels (count, size, size), and whether the dots are joined (count)."""
        rng = random.Random(int(torch.randint(2**62, (), generator=generator)))
        scenes = [self.scene(rng) for _ in range(count)]
        levels = np.stack([render(scene, self.size) for scene in scenes])
        return torch.from_numpy(levels), torch.tensor([int(scene.joined) for scene in scenes])

    def scene(self, rng: random.Random) -> Scene:
        """Draw contours with dots."""
        long = None
        while long is None:
            square = Square(self.size, rng)
            long = square.grow(self._neighbours(rng), self._dashes)
        which, joined = rng.randrange(2), rng.random() < 0.5
        other = which if joined else 1 - which
        dots = np.array([dashes(long[which])[-1, 1], dashes(long[other])[0, 0]])
        return Scene([*long, *self._distractors(square)], dots, joined)

    @property
    def _dashes(self) -> int:
        return round(14 * (self.size / 32) ** 1.5)

    def _neighbours(self, rng: random.Random) -> list[list[Point]]:
        """Propose where two contours begin: near the middle, so that they have room."""
        apart = max(5.0, 7 * self.size / 32)
        far = min(2 * apart, self.size / 2 - 1)
        one = rng.uniform(far, self.size - far), rng.uniform(far, self.size - far)
        return [[one] * PROPOSED, [ahead(one, rng.uniform(0, 2 * np.pi), apart) for _ in range(PROPOSED)]]

    def _distractors(self, square: Square) -> list[list[Point]]:
        """Draw short contours, fewer where they find no room."""
        length, found = self._dashes // 3, []
        for _ in range(20 * self.size**2 // 32**2 // length):
            for _ in range(_RETRIALS):
                inside = [square.rng.uniform(EDGE, self.size - EDGE) for _ in range(2 * PROPOSED)]
                if grown := square.grow([list(zip(inside[::2], inside[1::2], strict=True))], length):
                    found += grown
                    break
        return found


def dashes(contour: Sequence[Point]) -> NDArray[np.float64]:
    """Give where each dash of a contour begins and ends (dashes, 2, 2)."""
    points = np.array(contour)
    inset = (1 - DASH / STEP) / 2 * np.diff(points, axis=0)
    return np.stack([points[:-1] + inset, points[1:] - inset], 1)


def render(scene: Scene, size: int) -> NDArray[np.int64]:
    """Draw a scene as grey levels (size, size)."""
    begin, end = np.concatenate([dashes(contour) for contour in scene.contours])[:, None].transpose(2, 0, 1, 3)
    lit = np.zeros((size * FINE, size * FINE), dtype=np.int64)
    for points in (begin + _ALONG * (end - begin), scene.dots[:, None] + _DISC):
        rows, columns = np.floor(points.reshape(-1, 2).T * FINE).astype(int).clip(0, len(lit) - 1)
        lit[rows, columns] = 1
    return lit.reshape(size, FINE, size, FINE).sum((1, 3))
