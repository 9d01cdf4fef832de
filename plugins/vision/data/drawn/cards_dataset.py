"""The embedded source `cards`: pictures of real handwritten digits, made without limit and without a download.

A picture holds one to four digits on cards of different hues and a plain square, the cue; the label is the class of
the digit whose card has the cue's hue. To answer, a model must read a shifted digit (where convolution saves
examples) and bind it to a square far away (one step of attention). The task was designed to need both.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from zoo.plugins.shared.images.digits import GROUND, HUES, NOISE, Digits

CELL, GRID, SHIFT = 8, 3, 2
SIDE = CELL * GRID
NUM_CLASSES = 10
COUNTS = {1: 0.40, 2: 0.20, 3: 0.20, 4: 0.20}
"""How many digits a picture holds, and how often."""

_BLOCK = 1000


def make_cards(digits: Digits, count: int, seed: tuple[int, ...]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Make pictures (count, 3, 24, 24) and labels; a smaller count gives the beginning of a larger one.

    Labels come in rounds of all ten classes, so every beginning is class-balanced.
    """
    blocks = _blocks(digits, count, seed)
    return np.concatenate([x for x, _, _ in blocks])[:count], np.concatenate([y for _, y, _ in blocks])[:count]


def make_card_sets(digits: Digits, count: int, seed: tuple[int, ...]) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Make the same pictures with all digits that are on their cards: (count, 10), True for those that are there."""
    blocks = _blocks(digits, count, seed)
    return np.concatenate([x for x, _, _ in blocks])[:count], np.concatenate([z for _, _, z in blocks])[:count]


def ignoring_the_cue() -> float:
    """Compute the accuracy of reading every digit and naming the most frequent class, whatever the cue says."""
    return sum(probability * _share_of_most_frequent(count) for count, probability in COUNTS.items())


def _share_of_most_frequent(count: int) -> float:
    draws = [max(classes.count(c) for c in classes) / count for classes in product(range(NUM_CLASSES), repeat=count)]
    return sum(draws) / len(draws)


def _blocks(
    digits: Digits, count: int, seed: tuple[int, ...]
) -> list[tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]]:
    return [_make_block(digits, np.random.default_rng((*seed, index))) for index in range(-(-count // _BLOCK))]


def _make_block(
    digits: Digits, rng: np.random.Generator
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]:
    """Make pictures, the digit that the cue means, and which digits are there."""
    labels = rng.permuted(np.tile(np.arange(NUM_CLASSES), (_BLOCK // NUM_CLASSES, 1)), axis=1).ravel()
    chosen = rng.integers(len(digits.classes), size=(_BLOCK, max(COUNTS)))
    chosen[:, 0] = _draw_of_class(digits.classes, labels, rng)  # digits are exchangeable: the cue means the first
    number = rng.choice(list(COUNTS), p=list(COUNTS.values()), size=_BLOCK)
    hues = HUES[rng.permuted(np.tile(np.arange(len(HUES)), (_BLOCK, 1)), axis=1)]
    cells = rng.permuted(np.tile(np.arange(GRID**2), (_BLOCK, 1)), axis=1)
    canvas = np.zeros((_BLOCK, SIDE + 2 * SHIFT, SIDE + 2 * SHIFT, 3), np.float32)
    for slot in range(max(COUNTS)):
        ink = digits.pictures[chosen[:, slot], :, :, None]
        card = np.maximum(ink, GROUND * hues[:, slot, None, None, :])
        _paste(canvas, card * (slot < number)[:, None, None, None], cells[:, slot], rng)
    cue = np.broadcast_to(hues[:, 0, None, None, :], (_BLOCK, CELL, CELL, 3))
    _paste(canvas, cue, cells[:, max(COUNTS)], rng)
    picture = canvas[:, SHIFT:-SHIFT, SHIFT:-SHIFT] + NOISE * rng.standard_normal((_BLOCK, SIDE, SIDE, 3), np.float32)
    there = np.zeros((_BLOCK, NUM_CLASSES), np.bool_)
    rows, slots = np.nonzero(np.arange(max(COUNTS)) < number[:, None])
    there[rows, digits.classes[chosen[rows, slots]]] = True
    return (picture.clip(0, 1) * 255).round().astype(np.uint8).transpose(0, 3, 1, 2), labels, there


def _draw_of_class(
    classes: NDArray[np.int64], labels: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    order = np.argsort(classes, kind="stable")
    counts = np.bincount(classes, minlength=NUM_CLASSES)
    first = np.cumsum(counts) - counts
    return order[first[labels] + rng.integers(counts[labels])]


def _paste(
    canvas: NDArray[np.float32], card: NDArray[np.float32], cell: NDArray[np.int64], rng: np.random.Generator
) -> None:
    """Lay one card into a cell of each picture, shifted; the brighter value wins, the border crops."""
    corner = np.stack([cell // GRID, cell % GRID], 1) * CELL + rng.integers(0, 2 * SHIFT + 1, (len(cell), 2))
    rows = corner[:, 0, None, None] + np.arange(CELL)[:, None]
    columns = corner[:, 1, None, None] + np.arange(CELL)
    place = (np.arange(len(cell))[:, None, None], rows, columns)
    canvas[place] = np.maximum(canvas[place], card)
