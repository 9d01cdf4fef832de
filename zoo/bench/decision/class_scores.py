"""Scores that do not depend on how many test examples a class has: balanced accuracy and the worst class.

Axes: s seeds, n test examples, r replicates, k classes that have a test example.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zoo.bench.decision.bootstrap import Array, Interval, bootstrap_seeds, interval


@dataclass(frozen=True, kw_only=True)
class ClassScores:
    """Hold scores of one model at one size, each with its interval; None where the runs do not tell one.

    Args:
        balanced: mean over the classes of the accuracy of each, as scikit-learn's `balanced_accuracy_score`.
        worst: accuracy of the class that has the lowest, over all seeds. The lowest of many falls below what that class
            would have on new test examples.
        worst_class: its number.
        log_loss: mean cross-entropy, in nats; its interval is over seeds alone.
    """

    balanced: Interval | None = None
    worst: Interval | None = None
    worst_class: int = 0
    log_loss: Interval | None = None


def class_scores(
    right: Sequence[NDArray[np.bool_]], classes: NDArray[np.int64], weights: Array, rng: np.random.Generator
) -> ClassScores:
    """Give balanced accuracy and the worst class, by a bootstrap over seeds and test examples.

    Args:
        right: (s, n) which test examples were right.
        classes: (n,) their true classes.
        weights: (r, n) how often each example was drawn, see `bootstrap`.
        rng: draws the seeds.
    """
    numbers, order, starts = _by_class(classes)
    hits = np.stack(right).astype(float)[:, order]
    recalls = _shares(hits, np.ones((1, len(order))), starts).mean(0)
    drawn = np.stack([_shares(each[None], weights[:, order], starts) for each in hits], 1)
    seeds = rng.integers(len(right), size=drawn.shape[:2])
    draws = np.take_along_axis(drawn, seeds[:, :, None], 1).mean(1)
    worst = int(recalls.argmin())
    return ClassScores(
        balanced=interval(float(recalls.mean()), np.nanmean(draws, 1)),
        worst=interval(float(recalls[worst]), draws[~np.isnan(draws[:, worst]), worst]),
        worst_class=int(numbers[worst]),
    )


def recalls(right: NDArray[np.bool_], classes: NDArray[np.int64]) -> dict[int, float]:
    """Give the accuracy of each class of one run; their mean is its balanced accuracy."""
    numbers, order, starts = _by_class(classes)
    shares = _shares(right[None, order].astype(float), np.ones((1, len(order))), starts)[0]
    return dict(zip(numbers.tolist(), shares.tolist(), strict=True))


def mean_log_loss(losses: Sequence[float], rng: np.random.Generator) -> Interval:
    """Give the mean over seeds, and its interval."""
    return interval(float(np.mean(losses)), bootstrap_seeds(losses, rng))


def _by_class(classes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Give the classes there are, an order by class, and where each class begins in it."""
    numbers, starts = np.unique(np.sort(classes), return_index=True)
    return numbers, np.argsort(classes, kind="stable"), starts


def _shares(hits: Array, weights: Array, starts: NDArray[np.int64]) -> Array:
    """Give the share of hits in each class (r, k); NaN for a class of which no example was drawn."""
    right, count = (np.add.reduceat(each, starts, axis=1) for each in (hits * weights, weights + 0 * hits))
    return np.divide(right, count, out=np.full_like(right, np.nan), where=count > 0)
