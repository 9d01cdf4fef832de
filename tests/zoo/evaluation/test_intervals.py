"""Intervals of a bootstrap, and groups."""

from typing import Any

import numpy as np
import pytest

import zoo
from zoo.evaluation.intervals import by_group, with_intervals


class Mean:
    """Judge numbers by their mean."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values, float)

    def scores(self, chosen: Any) -> dict[str, float]:
        return {"mean": float(self.values[chosen].mean()), "never": float("nan")}


def test_an_interval_is_as_wide_as_the_normal_one_and_the_same_for_one_seed() -> None:
    values = np.random.default_rng(0).normal(size=400)
    judge: Any = Mean(values)
    (one, other) = (with_intervals(judge, np.arange(400), 2000, 3)["mean"] for _ in range(2))
    assert one == other
    assert one.low < one.value < one.high
    assert one.half == pytest.approx(1.96 * values.std() / 20, rel=0.1)
    assert np.isnan(with_intervals(judge, np.arange(400), 5, 0)["never"].value)


def test_groups_are_judged_apart_and_small_ones_are_named() -> None:
    judge: Any = Mean([1, 1, 1, 5, 5, 9])
    found, small = by_group(judge, ["a", "a", "a", "b", "b", None], 2, 10, 0)
    assert {name: scores["mean"].value for name, scores in found.items()} == {"a": 1, "b": 5}
    assert small == {"(empty)": 1}
    with pytest.raises(zoo.ConfigError, match="none of 3 groups has 4 items, the largest has 3"):
        by_group(judge, ["a", "a", "a", "b", "b", None], 4, 10, 0)
