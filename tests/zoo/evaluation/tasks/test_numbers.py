"""Numbers, some of them not known."""

import numpy as np
import pytest
from sklearn import metrics

from zoo.evaluation.judge import Answers, Item
from zoo.evaluation.tasks.numbers import NumbersJudge


def test_scores_are_the_means_of_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    targets = rng.normal(size=(30, 2))
    values = targets + 0.1 * rng.normal(size=(30, 2))
    targets[:5, 1] = np.nan
    judge = NumbersJudge(Answers([Item("test", i) for i in range(30)], np.arange(30), values, targets), ["a", "b"])
    found = judge.scores(np.arange(30))
    pairs = [(targets[:, 0], values[:, 0]), (targets[5:, 1], values[5:, 1])]
    assert found["R²"] == pytest.approx(np.mean([metrics.r2_score(*pair) for pair in pairs]))
    assert found["mean absolute error"] == pytest.approx(np.mean([np.abs(a - b).mean() for a, b in pairs]))
    assert [row[0] for row in judge.tables()[0].rows] == ["a", "b"]
