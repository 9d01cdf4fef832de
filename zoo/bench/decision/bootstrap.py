"""From counted errors to intervals: a bootstrap over seeds and test examples, and what guesses reach.

Axis letters: r replicates.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

REPLICATES = 1000
LEVEL = 0.95
GUESSING = 0.001
"""Probability with which a model that guesses exceeds `guessing_limit`; a study asks it of a dozen points."""


@dataclass(frozen=True)
class Interval:
    """Hold an estimate and where it lies with 95 % confidence."""

    value: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Give half the width, for a table."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        """Write the value ± half the width; the value alone where there is none, as of one seed."""
        return f"{self.value:z.3f}" + (f" ± {self.half:.3f}" if self.half else "")

    def mapped(self, change: Callable[[float], float]) -> "Interval":
        """Give the interval of what a function that never falls makes of the value."""
        return Interval(change(self.value), change(self.low), change(self.high))

    def scaled(self, scale: float) -> "Interval":
        """Give the interval of a value that is so many times as large."""
        return self.mapped(lambda value: value * scale)


def bootstrap(correct: Sequence[NDArray[np.bool_]], weights: Array, rng: np.random.Generator) -> Array:
    """Draw accuracies of one model at one size: over its seeds and over test examples.

    Args:
        correct: for each seed, which test examples were right.
        weights: (replicate, example), how often each example was drawn; shared by all models, so that
            they are compared on the same examples.
        rng: draws the seeds.
    """
    by_seed = weights @ np.stack(correct).T.astype(float) / weights.sum(1, keepdims=True)
    drawn = rng.integers(len(correct), size=by_seed.shape)
    return np.take_along_axis(by_seed, drawn, 1).mean(1)


def bootstrap_seeds(scores: Sequence[float], rng: np.random.Generator) -> Array:
    """Draw mean scores of one model at one size over its seeds alone, where single examples have no score."""
    drawn = rng.integers(len(scores), size=(REPLICATES, len(scores)))
    means: Array = np.asarray(scores)[drawn].mean(1)
    return means


def draw_examples(count: int, rng: np.random.Generator, replicates: int = REPLICATES) -> Array:
    """Draw test examples with replacement: how often each, for every replicate."""
    return rng.multinomial(count, np.full(count, 1 / count), size=replicates).astype(float)


def interval(value: float, draws: Array) -> Interval:
    """Take the interval of an estimate from its replicates; it always holds the estimate."""
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(value, min(float(low), value), max(float(high), value))


def guessing_limit(chance: float, answers: int) -> float:
    """Give the accuracy that guesses exceed with a probability of `GUESSING` only.

    It is the quantile of the binomial distribution, exact.

    Args:
        chance: probability that a guess is right.
        answers: number of guesses, over test examples and seeds.
    """
    if not 0 < chance < 1:
        return chance
    right = np.arange(answers + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(right[1:]))])
    log_ways = log_factorial[-1] - log_factorial - log_factorial[::-1]
    exceeding = np.exp(log_ways + right * math.log(chance) + (answers - right) * math.log1p(-chance))[::-1].cumsum()
    return float(answers - (exceeding <= GUESSING).sum()) / answers
