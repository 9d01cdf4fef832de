"""Power laws of two curves, and where they cross.

Everything is computed for many bootstrap replicates at once. Axis letters: r replicates, n sizes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from zoo.bench.decision.bootstrap import LEVEL, Array, Interval, interval
from zoo.bench.decision.families import POWER_LAW_WITH_FLOOR, Fits, clipped, fit, weights_of

REACH = 100.0
"""Fits are followed at most this many times beyond the largest size."""


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
    fits = _law(sizes, errors, draws)
    fitted = fits(sizes)
    exponent = np.where(fitted[:, 0] > fitted[:, -1] * (1 + 1e-9), fits.b, 0.0)
    a, b, c = (interval(float(rows[0]), rows[1:]) for rows in (fits.a * fits.unit**exponent, exponent, fits.c))
    return PowerLaw(a, b, c, float(np.sqrt((np.log(clipped(fitted)[0] / clipped(errors)) ** 2).mean())))


def find_crossover(sizes: Sequence[int], first: Array, second: Array, *, draws: tuple[Array, Array]) -> Crossover:
    """Find the size from which on the second model leads for good.

    Where the first still leads at the largest size, the two power laws are followed further.

    Args:
        sizes: ascending.
        first: (n,) accuracies of the one that leads at small sizes.
        second: (n,) accuracies of the challenger.
        draws: (r, n) replicates of both.
    """
    found = measured_crossover(np.asarray(sizes, float), first, second, draws=draws)
    if found.kind != "none":
        return found
    beyond = _beyond(sizes, first, second, draws)
    return replace(found, kind="extrapolated", size=beyond) if beyond else found


def measured_crossover(places: Array, first: Array, second: Array, *, draws: tuple[Array, Array]) -> Crossover:
    """Find the place from which on the second model leads for good, among those measured.

    Between two places the errors are interpolated as the figure draws them, log error over log place.

    Args:
        places: ascending sizes, or costs.
        first: (n,) accuracies of the one that leads at small ones.
        second: (n,) accuracies of the challenger.
        draws: (r, n) replicates of both.
    """
    one, two = np.vstack([first, draws[0]]), np.vstack([second, draws[1]])
    lead = _log_error(one) - _log_error(two)
    crossed = _last_crossing(np.log(places), lead)
    share = float(np.isfinite(crossed[1:]).mean())
    if crossed[0] == -math.inf:
        return Crossover("always", None, share)
    measured = math.isfinite(crossed[0])
    return Crossover("measured" if measured else "none", _size_interval(crossed) if measured else None, share)


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
    one, two = (_law(sizes, 1 - values, 1 - drawn) for values, drawn in ((first, draws[0]), (second, draws[1])))
    far = np.geomspace(sizes[-1], sizes[-1] * REACH, 200)
    ahead = one(far) > two(far)
    crossed = np.where(ahead.any(1), np.log(far[ahead.argmax(1)]), np.inf)
    return _size_interval(crossed) if math.isfinite(crossed[0]) else None


def _law(sizes: Sequence[int], errors: Array, draws: Array) -> Fits:
    return fit(POWER_LAW_WITH_FLOOR, sizes, np.vstack([errors, draws]), weights_of(errors, draws))


def _size_interval(log_crossed: Array) -> Interval:
    """Turn log sizes into an interval: 0 where replicates lead throughout, inf where they never do."""
    low, high = np.quantile(log_crossed[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="nearest")
    value = math.exp(log_crossed[0])
    return Interval(value, min(float(np.exp(low)), value), max(float(np.exp(high)), value))
