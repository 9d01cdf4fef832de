"""Bootstrap intervals of scores: items are drawn with replacement, 95 of 100 draws lie between the ends."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from zoo.bench.decision.bootstrap import Interval, interval
from zoo.data.progress import shown
from zoo.errors import ConfigError
from zoo.evaluation.judge import Index, Judge


def with_intervals(
    judge: Judge, chosen: Index, samples: int, seed: int, what: str = "bootstrap draws"
) -> dict[str, Interval]:
    """Give the scores of some items, each with its interval.

    Args:
        judge: of the answers.
        chosen: items.
        samples: draws; of one seed, the same each time.
        seed: of the draws.
        what: for the progress bar.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a draw may lack a class
        value = judge.scores(chosen)
        rng = np.random.default_rng(seed)
        drawn = [judge.scores(one) for one in shown(_draws(chosen, samples, rng), samples, what)]
    found = {}
    for name, score in value.items():
        draws = np.array([each[name] for each in drawn])
        draws = draws[~np.isnan(draws)]
        found[name] = interval(score, draws) if len(draws) else Interval(score, score, score)
    return found


def by_group(
    judge: Judge, values: Sequence[Any], least: int, samples: int, seed: int
) -> tuple[dict[str, dict[str, Interval]], dict[str, int]]:
    """Give the scores of each group, and the sizes of groups that are too small to be judged.

    Args:
        judge: of the answers.
        values: the group of each item; None for none.
        least: items of a group.
        samples: draws.
        seed: of the draws.

    Raises:
        ConfigError: If no group has enough items.
    """
    names = np.array(["(empty)" if value is None else str(value) for value in values])
    groups, counts = np.unique(names, return_counts=True)
    small = {str(name): int(count) for name, count in zip(groups, counts, strict=True) if count < least}
    large = [str(name) for name in groups if str(name) not in small]
    if not large:
        raise ConfigError(
            f"by: none of {len(groups):,} groups has {least} items, the largest has {counts.max()}; take another "
            "column, or another --least"
        )
    found = {
        name: with_intervals(judge, np.flatnonzero(names == name), samples, seed, f"intervals of {name}")
        for name in large
    }
    return found, small


def _draws(chosen: Index, samples: int, rng: np.random.Generator) -> Iterator[Index]:
    for _ in range(samples):
        yield chosen[rng.integers(len(chosen), size=len(chosen))]
