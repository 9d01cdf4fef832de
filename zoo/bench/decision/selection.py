"""The family that a curve follows: fitted without the largest size, the families predict it; what they miss is told."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from zoo.bench.decision.bootstrap import LEVEL, Array, Interval, interval
from zoo.bench.decision.curve import Curve
from zoo.bench.decision.families import FAMILIES, LEAST, Family, Fits, fit, weights_of

LEAST_SIZES = 1 + min(family.parameters for family in FAMILIES)
"""Sizes that a choice needs: one is held out."""


@dataclass(frozen=True)
class Trial:
    """Hold a family fitted to all sizes, and what it predicts for the largest when fitted without it.

    Args:
        fits: to all sizes.
        off: predicted less measured error at the largest size, over the replicates of both; None where the sizes
            without it are fewer than the parameters.
    """

    fits: Fits
    off: Interval | None = None
    unexplained: float = 0.0
    """Standard deviation of the logarithm of the error which the noise of the points does not explain."""

    @property
    def refuted(self) -> bool:
        """Whether the prediction misses by more than its interval leaves open."""
        return self.off is not None and not self.off.low <= 0 <= self.off.high

    @property
    def missed(self) -> float:
        """Give the error of the prediction, without its sign; inf where there is none."""
        return abs(self.off.value) if self.off else math.inf


@dataclass(frozen=True)
class Selection:
    """Hold the families tried on a curve.

    Args:
        chosen: the one with the fewest parameters of those that are not refuted, of several the nearest; where all
            are refuted, the nearest.
        left: those that are not refuted, also because they cannot be tried: intervals span all of them.
        held_out: the largest size, which was predicted.
        measured: error there.
    """

    chosen: Trial
    left: Sequence[Trial]
    held_out: int
    measured: float

    @property
    def predicted(self) -> float:
        """Give the error that the chosen family predicts for the largest size."""
        return self.measured + (self.chosen.off.value if self.chosen.off else math.nan)

    @property
    def refuted(self) -> bool:
        """Whether no family predicts the largest size."""
        return self.chosen.refuted

    def error_at(self, size: int, noise: Array | None = None) -> Interval:
        """Predict the error at a size.

        Args:
            size: number of training examples.
            noise: (1 + r,) to be added, of the measurement of what is predicted.
        """
        rows = [trial.fits([size])[:, 0] * np.exp(self._drift(trial)) for trial in self.left]
        return self._spanned(rows, float(self.chosen.fits([size])[0, 0]), noise)

    def size_at(self, error: float, noise: Array | None = None) -> Interval:
        """Predict the size from which on the error is at most so large; inf where that may never be."""
        rows = [
            trial.fits.reaching((error if noise is None else error - noise) * np.exp(-self._drift(trial)))
            for trial in self.left
        ]
        return self._spanned(rows, float(self.chosen.fits.reaching(np.full(len(rows[0]), error))[0]), None)

    def _spanned(self, rows: Sequence[Array], value: float, noise: Array | None) -> Interval:
        """Give an interval that holds those of all families left."""
        noisy = [row[1:] if noise is None else row[1:] + noise[1:] for row in rows]
        lows, highs = np.quantile(noisy, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1, method="nearest")
        return Interval(value, min(value, float(lows.min())), max(value, float(highs.max())))

    def _drift(self, trial: Trial) -> Array:
        """Draw by how much, as a logarithm, the true error may lie beside a fitted one, for each row."""
        return trial.unexplained * self._normal

    @cached_property
    def _normal(self) -> Array:
        drawn = np.random.default_rng(0).standard_normal(len(self.chosen.fits.a))
        drawn[0] = 0.0
        return drawn


def select(curve: Curve) -> Selection | None:
    """Choose the family of a curve; None below three sizes.

    A family can be chosen where the sizes without the largest are as many as its parameters: two of the four from three
    sizes on, all from four on.
    """
    if len(curve.sizes) < LEAST_SIZES:
        return None
    trials = [_trial(family, curve) for family in FAMILIES if family.parameters <= len(curve.sizes)]
    tried = [trial for trial in trials if trial.off]
    good = [trial for trial in tried if not trial.refuted]
    chosen = min(good or tried, key=lambda trial: (bool(good) and trial.fits.family.parameters, trial.missed))
    left = [trial for trial in trials if trial is chosen or not trial.refuted]
    return Selection(chosen, left, curve.largest, float(curve.errors[-1]))


def _trial(family: Family, curve: Curve) -> Trial:
    rows, weights = curve.rows, weights_of(curve.errors, curve.draws)
    fits = fit(family, curve.sizes, rows, weights)
    if family.parameters == len(curve.sizes):
        return Trial(fits)
    predicted = fit(family, curve.sizes[:-1], rows[:, :-1], weights[:-1])([curve.largest])[:, 0]
    off = predicted - rows[:, -1]
    least = LEAST * float(curve.errors.max())
    measured = max(float(curve.errors[-1]), least)
    ratio = math.log(max(float(predicted[0]), least) / measured)
    unexplained = math.sqrt(max(0.0, ratio**2 - float(off[1:].var()) / measured**2))
    return Trial(fits, interval(float(off[0]), off[1:]), unexplained)
