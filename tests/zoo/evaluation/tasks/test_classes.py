"""The scores are those of scikit-learn, also of draws with repetitions."""

import numpy as np
import pytest
from sklearn import metrics

from zoo.evaluation.judge import Answers, Item
from zoo.evaluation.tasks.classes import ClassJudge, calibration_error, roc_auc

RNG = np.random.default_rng(0)


def judge(rows: int = 60, classes: int = 4) -> ClassJudge:
    values = RNG.dirichlet(np.ones(classes), rows).round(2) + 1e-3
    items = [Item("test", place) for place in range(rows)]
    answers = Answers(items, np.arange(rows), values / values.sum(1, keepdims=True), RNG.integers(classes, size=rows))
    return ClassJudge(answers, [f"c{place}" for place in range(classes)])


def test_the_area_is_that_of_scikit_learn_with_ties() -> None:
    for _ in range(20):
        ranks, positive = RNG.integers(6, size=40), RNG.random(40) < 0.3
        assert roc_auc(ranks, positive) == pytest.approx(metrics.roc_auc_score(positive, ranks))
    assert np.isnan(roc_auc(np.arange(3), np.full(3, True)))


def test_scores_of_many_classes_are_those_of_scikit_learn() -> None:
    made = judge()
    chosen = RNG.integers(60, size=60)
    found = made.scores(chosen)
    true, values = made.answers.targets[chosen], made.answers.values[chosen]
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(true, values.argmax(1)))
    assert found["balanced accuracy"] == pytest.approx(metrics.balanced_accuracy_score(true, values.argmax(1)))
    assert found["macro F1"] == pytest.approx(metrics.f1_score(true, values.argmax(1), average="macro"))
    assert found["log loss"] == pytest.approx(metrics.log_loss(true, values))
    assert found["ROC AUC"] == pytest.approx(metrics.roc_auc_score(true, values, multi_class="ovr"))


def test_of_two_classes_the_area_is_that_of_the_second() -> None:
    made = judge(classes=2)
    true, values = made.answers.targets, made.answers.values
    assert made.scores(np.arange(60))["ROC AUC"] == pytest.approx(metrics.roc_auc_score(true, values[:, 1]))


def test_the_calibration_error_is_the_distance_of_confidence_and_accuracy() -> None:
    assert calibration_error(np.full(10, 0.8), np.arange(10) < 8) == pytest.approx(0)
    assert calibration_error(np.full(10, 0.8), np.arange(10) < 3) == pytest.approx(0.5)
    mixed = calibration_error(np.array([0.05, 0.95, 1.0]), np.array([True, True, True]))
    assert mixed == pytest.approx((0.95 + 0.05 + 0.0) / 3)


def test_the_worst_item_is_the_one_whose_right_class_surprises_most() -> None:
    made = judge()
    chance = made.answers.values[np.arange(60), made.answers.targets]
    assert made.losses().argmax() == chance.argmin()
    assert made.rows()[3]["wanted"] == f"c{made.answers.targets[3]}"
