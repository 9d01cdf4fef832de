"""Contours that never touch: chains of points on a square.

What lies nearer to a contour than `GAP` is taken, and noted on a grid of `FINE` cells a pixel. The grid is one whole
number with a bit for each cell: a disc is added by a shift and an `|`, and a step is taken back by going to an old one.
"""

import math
import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

STEP = 3.0
"""Pixels from one point of a contour to the next."""
EDGE = 1
"""Pixels along the edges that stay empty."""
GAP = 2.0
"""Pixels about a contour that nothing else enters."""
FINE = 2
"""Cells of the grid along a pixel."""
PROPOSED = 8
"""Steps that are tried, of which the first that is free is taken."""
BACK, TRIALS = 6, 4
"""Steps that are taken back at a dead end, and steps for each that a contour has in the end, at most."""
_OUTSIDE = int(FINE * STEP) + 1
"""Cells about the square, where a step may be looked at."""
_ALL_ALONG, _FAR_ALONG = (0.0, 0.75, 1.5, 2.25, STEP), (GAP + 1 / FINE, STEP)
"""Where a first step is looked at, and a later one: its beginning lies within what the step before has taken."""
_TAKING = (0.0, 1.0, 2.0, STEP)
"""Where a step takes what is near it."""

Point = tuple[float, float]


class Step(NamedTuple):
    """A step of a contour: from where, in which direction in radians, and what is taken after it."""

    at: Point
    angle: float
    taken: int

    @property
    def end(self) -> Point:
        """Where it ends."""
        return ahead(self.at, self.angle, STEP)


class Square:
    """A square on which contours grow.

    Args:
        size: pixels along each side.
        rng: draws the contours.
    """

    def __init__(self, size: int, rng: random.Random) -> None:
        self.rng = rng
        self._side = size * FINE + 2 * _OUTSIDE
        inside = range(_OUTSIDE + EDGE * FINE, self._side - _OUTSIDE - EDGE * FINE)
        free = sum(1 << column for column in inside)
        self.taken = (1 << self._side**2) - 1 - sum(free << row * self._side for row in inside)
        reach = int(GAP * FINE)
        near = [(row, column) for row in range(-reach, reach + 1) for column in range(-reach, reach + 1)]
        self._centre = reach * (self._side + 1)
        self._disc = sum(
            1 << self._centre + row * self._side + column for row, column in near if row**2 + column**2 <= reach**2
        )

    def grow(self, starts: Sequence[Sequence[Point]], length: int) -> list[list[Point]] | None:
        """Grow contours in turns, each from one of the points that it may start at; None where there is no room.

        Where one runs into a dead end, the last steps are taken back, and others are drawn.
        """
        steps: list[Step] = []
        for _ in range(TRIALS * length * len(starts)):
            taken = steps[-1].taken if steps else self.taken
            number = len(steps)
            if number < len(starts):
                step = self._step(taken, ((at, self._any()) for at in starts[number]), _ALL_ALONG)
            else:
                before = steps[-len(starts)]
                turned = ((before.end, before.angle + self._turn()) for _ in range(PROPOSED))
                step = self._step(taken, turned, _FAR_ALONG)
            steps = [*steps, step] if step else steps[:-BACK]
            if len(steps) == length * len(starts):
                self.taken = steps[-1].taken
                own = [steps[first :: len(starts)] for first in range(len(starts))]
                return [[chain[0].at, *(each.end for each in chain)] for chain in own]
        return None

    def _step(self, taken: int, proposed: Iterable[tuple[Point, float]], along: Sequence[float]) -> Step | None:
        """Take the first step that is free."""
        for at, angle in proposed:
            if not any(taken >> self._cell(ahead(at, angle, far)) & 1 for far in along):
                for far in _TAKING:
                    taken |= self._disc << self._cell(ahead(at, angle, far)) - self._centre
                return Step(at, angle, taken)
        return None

    def _any(self) -> float:
        return self.rng.uniform(-math.pi, math.pi)

    def _turn(self) -> float:
        """Draw a turn; its odds are the squared cosine of its angle, as in the published generator."""
        while True:
            turn = self.rng.uniform(-math.pi / 2, math.pi / 2)
            if self.rng.random() < math.cos(turn) ** 2:
                return turn

    def _cell(self, at: Point) -> int:
        row, column = (math.floor(FINE * place) + _OUTSIDE for place in at)
        return row * self._side + column


def ahead(at: Point, angle: float, far: float) -> Point:
    """Give the point so many pixels ahead."""
    return at[0] + far * math.sin(angle), at[1] + far * math.cos(angle)
