import warnings
from statistics import fmean

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from zoo.bench.decision.bootstrap import draw_examples
from zoo.bench.decision.class_scores import ClassScores, class_scores, mean_log_loss, recalls

RNG = np.random.default_rng(0)
CLASSES = RNG.choice([0, 2, 5], p=[0.7, 0.2, 0.1], size=600)
RIGHT = [RNG.random(600) < np.where(CLASSES == 2, 0.3, 0.9) for _ in range(3)]


def scored(right: list[np.ndarray], classes: np.ndarray) -> ClassScores:
    rng = np.random.default_rng(1)
    return class_scores(right, classes, draw_examples(len(classes), rng), rng)


def test_balanced_accuracy_is_that_of_scikit_learn() -> None:
    other = np.where(CLASSES == 0, 2, 0)
    known = [balanced_accuracy_score(CLASSES, np.where(right, CLASSES, other)) for right in RIGHT]
    assert [fmean(recalls(right, CLASSES).values()) for right in RIGHT] == pytest.approx(known)
    found = scored(RIGHT, CLASSES)
    assert found.balanced is not None
    assert found.balanced.value == pytest.approx(np.mean(known))
    assert found.balanced.value < np.mean(RIGHT) - 0.03  # which the frequent class lifts


def test_the_worst_class_is_named_with_its_accuracy() -> None:
    found = scored(RIGHT, CLASSES)
    assert found.worst_class == 2
    assert found.worst is not None
    assert found.worst.value == pytest.approx(np.mean([right[CLASSES == 2].mean() for right in RIGHT]))
    assert found.worst.low < found.worst.value < found.worst.high


def test_intervals_are_wider_of_fewer_examples_of_a_class() -> None:
    few = np.arange(600) < 300
    whole, half = scored(RIGHT, CLASSES), scored([right[few] for right in RIGHT], CLASSES[few])
    assert half.balanced
    assert whole.balanced
    assert half.balanced.half > 1.15 * whole.balanced.half


def test_a_class_of_one_example_gives_an_interval_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = scored([np.array([True, False, True, True])], np.array([0, 1, 0, 0]))
    assert found.worst is not None
    assert (found.worst.low, found.worst.value, found.worst.high) == (0, 0, 0)


def test_the_interval_of_a_log_loss_is_over_seeds() -> None:
    found = mean_log_loss([1.0, 2.0, 3.0], np.random.default_rng(0))
    assert found.value == 2
    assert 1 <= found.low < 2 < found.high <= 3
