"""From counted errors to statements: intervals, power laws, and where two curves cross.

Everything is computed for many bootstrap replicates at once. Axis letters: r replicates, n sizes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

REPLICATES = 1000
LEVEL = 0.95
GUESSING = 0.001
"""Probability with which a model that guesses exceeds `guessing_limit`; a study asks it of a dozen points."""
REACH = 100.0
"""Fits are followed at most this many times beyond the largest size."""


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

    def scaled(self, scale: float) -> "Interval":
        """Give the interval of a value that is so many times as large."""
        return Interval(self.value * scale, self.low * scale, self.high * scale)


@dataclass(frozen=True)
class PowerLaw:
    """Power law err(N) = a N^-b + c, with intervals of its parameters."""

    a: Interval
    b: Interval
    c: Interval
    misfit: float
    """Root mean square of log(error / fitted error); 0.1 means 10 %."""

    def scaled(self, scale: float) -> "PowerLaw":
        """Give the law of errors that are so many times as large."""
        return replace(self, a=self.a.scaled(scale), c=self.c.scaled(scale))

    def __call__(self, sizes: Array) -> Array:
        """Give the fitted errors at some sizes."""
        return self.a.value * sizes**-self.b.value + self.c.value


@dataclass(frozen=True)
class Crossover:
    """Crossover: the number of training examples from which the challenger leads."""

    kind: Literal["measured", "extrapolated", "always", "none"]
    size: Interval | None
    share: float
    """Share of the bootstrap replicates in which the curves cross within the sizes measured."""


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


def fit_power_law(sizes: Sequence[int], errors: Array, draws: Array) -> PowerLaw | None:
    """Fit err(N) = a N^-b + c to the errors, and to every replicate for the intervals.

    Three parameters want at least three sizes: below that there is no fit.

    Args:
        sizes: numbers of training examples.
        errors: (n,) in [0, 1].
        draws: (r, n) replicates of the errors.
    """
    if len(sizes) < 3:
        return None
    a, b, c, misfit = _fit(np.asarray(sizes, float), np.vstack([errors, draws]))
    a_found, b_found, c_found = (interval(float(values[0]), values[1:]) for values in (a, b, c))
    return PowerLaw(a_found, b_found, c_found, float(misfit[0]))


def _fit(sizes: Array, errors: Array) -> tuple[Array, Array, Array, Array]:
    """Fit each row: for every floor c of a grid a straight line through log(err - c), then the best floor."""
    errors = np.clip(errors, 1e-4, 1)
    x = np.log(sizes) - np.log(sizes).mean()
    floors = errors.min(1)[:, None] * np.linspace(0, 0.99, 100)
    y = np.log(errors[:, None, :] - floors[:, :, None])
    slope = np.minimum((y * x).sum(-1) / (x * x).sum(), 0)
    level = y.mean(-1)
    fitted = np.exp(level[..., None] + slope[..., None] * x) + floors[..., None]
    misfit = np.sqrt((np.log(fitted / errors[:, None, :]) ** 2).mean(-1))
    best = np.argmin(misfit, 1)[:, None]
    slope, level, floor, off = (np.take_along_axis(v, best, 1)[:, 0] for v in (slope, level, floors, misfit))
    return np.exp(level - slope * np.log(sizes).mean()), np.abs(slope), floor, off


def find_crossover(sizes: Sequence[int], first: Array, second: Array, *, draws: tuple[Array, Array]) -> Crossover:
    """Find the size from which on the second model leads for good.

    Between two sizes the errors are interpolated as the figure draws them, log error over log N. Where the first still
    leads at the largest size, the two power laws are followed further.

    Args:
        sizes: ascending.
        first: (n,) accuracies of the one that leads at small sizes.
        second: (n,) accuracies of the challenger.
        draws: (r, n) replicates of both.
    """
    one, two = np.vstack([first, draws[0]]), np.vstack([second, draws[1]])
    lead = _log_error(one) - _log_error(two)
    crossed = _last_crossing(np.log(np.asarray(sizes, float)), lead)
    share = float(np.isfinite(crossed[1:]).mean())
    if crossed[0] == -math.inf:
        return Crossover("always", None, share)
    if math.isfinite(crossed[0]):
        return Crossover("measured", _size_interval(crossed), share)
    beyond = _beyond(sizes, first, second, draws)
    return Crossover("extrapolated" if beyond else "none", beyond, share)


def _last_crossing(log_sizes: Array, lead: Array) -> Array:
    """Give log N of the last change from behind to ahead; inf where behind at the end, -inf where never behind."""
    behind = lead <= 0
    last = np.where(behind.any(1), lead.shape[1] - 1 - behind[:, ::-1].argmax(1), -1)
    inside = (last >= 0) & (last < lead.shape[1] - 1)
    at = np.where(inside, last, 0)
    rows = np.arange(len(lead))
    before, after = lead[rows, at], lead[rows, np.minimum(at + 1, lead.shape[1] - 1)]
    share = np.divide(-before, after - before, out=np.zeros_like(before), where=inside)
    found = log_sizes[at] + share * (log_sizes[np.minimum(at + 1, len(log_sizes) - 1)] - log_sizes[at])
    return np.where(inside, found, np.where(last < 0, -np.inf, np.inf))


def _log_error(accuracy: Array) -> Array:
    return np.log(np.clip(1 - accuracy, 1e-4, 1))


def _beyond(sizes: Sequence[int], first: Array, second: Array, draws: tuple[Array, Array]) -> Interval | None:
    """Follow both fits beyond the largest size."""
    if len(sizes) < 3:
        return None
    n = np.asarray(sizes, float)
    one, two = (_fit(n, 1 - np.vstack(pair)) for pair in ((first, draws[0]), (second, draws[1])))
    far = np.geomspace(n[-1], n[-1] * REACH, 200)
    ahead = _errors(one, far) > _errors(two, far)
    crossed = np.where(ahead.any(1), np.log(far[ahead.argmax(1)]), np.inf)
    return _size_interval(crossed) if math.isfinite(crossed[0]) else None


def _errors(law: tuple[Array, Array, Array, Array], sizes: Array) -> Array:
    a, b, c, _ = (part[:, None] for part in law)
    return a * sizes**-b + c


def _size_interval(log_crossed: Array) -> Interval:
    """Turn log sizes into an interval: 0 where replicates lead throughout, inf where they never do."""
    low, high = np.quantile(log_crossed[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="nearest")
    value = math.exp(log_crossed[0])
    return Interval(value, min(float(np.exp(low)), value), max(float(np.exp(high)), value))
