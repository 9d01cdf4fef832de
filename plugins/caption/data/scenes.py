"""Drawn scenes: coloured cards with handwritten digits on a grid, and the sentence that a grammar makes of them.

Sentence = Thing [Relation Thing];   Thing = "a" Colour Number;   Relation = "left of" | "above"
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.plugins.shared.images.digits import GROUND, HUES, NOISE, Digits

CARD, CELL, GRID = 8, 10, 2
"""Pixels of a card and of a cell, in which it lies anywhere, and cells along a side."""
SIDE = CELL * GRID
COLOURS = ("red", "green", "blue", "yellow")
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
COUNTS = {1: 0.2, 2: 0.8}
"""How many things a scene has, and how often."""

Pair = tuple[int, int]
"""A colour and a number."""
PAIRS: tuple[Pair, ...] = tuple((hue, digit) for hue in range(len(COLOURS)) for digit in range(len(NUMBERS)))
UNSEEN: tuple[Pair, ...] = tuple((hue, (2 * hue + 5 * half) % 10) for hue in range(len(COLOURS)) for half in (0, 1))
"""Pairs that no training picture shows: two numbers of each colour; all colours and numbers are seen with others."""
SEEN = tuple(pair for pair in PAIRS if pair not in UNSEEN)


class Box(NamedTuple):
    """A rectangle of a picture, as shares of its height and width."""

    top: float
    left: float
    bottom: float
    right: float


class Thing(NamedTuple):
    """A card: its colour and number, and the corner of its cell."""

    pair: Pair
    row: int
    column: int


class Scene(NamedTuple):
    """A picture (3, height, width) with its sentence, and of each word the place of what it names, if it names any."""

    pixels: NDArray[np.uint8]
    text: str
    boxes: tuple[Box | None, ...]


def draw_scene(digits: Digits, rng: np.random.Generator, unseen: bool = False) -> Scene:
    """Draw a scene.

    Args:
        digits: of which the cards are made.
        rng: of all choices.
        unseen: whether one of its pairs is of `UNSEEN`; else none is.
    """
    number = rng.choice(list(COUNTS), p=list(COUNTS.values()))
    cells = np.sort(rng.permutation(GRID**2)[:number])  # in the order of reading
    pairs = [SEEN[place] for place in rng.integers(len(SEEN), size=number)]
    if unseen:
        pairs[rng.integers(number)] = UNSEEN[rng.integers(len(UNSEEN))]
    things = [Thing(pair, int(cell) // GRID, int(cell) % GRID) for pair, cell in zip(pairs, cells, strict=True)]
    canvas = np.zeros((SIDE, SIDE, 3), np.float32)
    corners = [_lay(canvas, thing, digits, rng) for thing in things]
    canvas += NOISE * rng.standard_normal(canvas.shape, np.float32)
    pixels = (canvas.clip(0, 1) * 255).round().astype(np.uint8).transpose(2, 0, 1)
    return Scene(pixels, *describe(things, [_box(*corner) for corner in corners]))


def describe(things: Sequence[Thing], boxes: Sequence[Box]) -> tuple[str, tuple[Box | None, ...]]:
    """Name things in their order, and give the place of what each word names."""
    words: list[str] = []
    places: list[Box | None] = []
    for at, (thing, box) in enumerate(zip(things, boxes, strict=True)):
        if at:
            relation = ["left", "of"] if thing.row == things[at - 1].row else ["above"]
            words += relation
            places += [None] * len(relation)
        words += ["a", COLOURS[thing.pair[0]], NUMBERS[thing.pair[1]]]
        places += [None, box, box]
    return " ".join(words), tuple(places)


def _lay(canvas: NDArray[np.float32], thing: Thing, digits: Digits, rng: np.random.Generator) -> tuple[int, int]:
    """Lay a card into its cell, anywhere, and give its corner."""
    hue, digit = thing.pair
    of_class = np.flatnonzero(digits.classes == digit)
    ink = digits.pictures[of_class[rng.integers(len(of_class))], :, :, None]
    top, left = (CELL * cell + int(rng.integers(CELL - CARD + 1)) for cell in (thing.row, thing.column))
    canvas[top : top + CARD, left : left + CARD] = np.maximum(ink, GROUND * HUES[hue])
    return top, left


def _box(top: int, left: int) -> Box:
    return Box(top / SIDE, left / SIDE, (top + CARD) / SIDE, (left + CARD) / SIDE)
