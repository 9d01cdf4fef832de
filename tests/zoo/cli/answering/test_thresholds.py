"""Thresholds: of all labels or of one, refused where they make no sense."""

import pytest

from zoo import ConfigError
from zoo.cli.answering.thresholds import Thresholds

ANSWER = {"cat": 0.4, "dog": 0.8, "owl": 0.55}


def test_labels_are_those_above_their_threshold_the_most_probable_first() -> None:
    assert Thresholds([], "multi-label").chosen(ANSWER) == [("dog", 0.8), ("owl", 0.55)]
    assert Thresholds(["0.9"], "multi-label").chosen(ANSWER) == []
    assert Thresholds(["0.9", "cat=0.3"], "multi-label").chosen(ANSWER) == [("cat", 0.4)]


@pytest.mark.parametrize(
    ("given", "task", "text"),
    [
        (["0.2"], "classify", "--threshold 0.2 of a model of task 'classify', which gives one label: see --top"),
        (["half"], "multi-label", "--threshold half: a probability is wanted"),
        (["dog=1.5"], "multi-label", "--threshold dog=1.5: a probability is wanted"),
        (["cow=0.5"], "multi-label", "--threshold cow=…: the labels are cat, dog, owl"),
    ],
)
def test_what_is_no_threshold_is_refused(given: list[str], task: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Thresholds(given, task).chosen(ANSWER)
