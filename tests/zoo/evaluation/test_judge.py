"""Answers of an item stay together."""

import numpy as np

from zoo.evaluation.judge import Answers, Item


def test_the_answers_of_drawn_items_come_whole_and_as_often_as_drawn() -> None:
    owner = np.array([0, 0, 2, 2, 2])
    answers = Answers([Item("test", place) for place in range(3)], owner, np.zeros((5, 2)), np.zeros(5))
    assert answers.of(np.array([2, 0, 2, 1])).tolist() == [2, 3, 4, 0, 1, 2, 3, 4]
    assert [each.tolist() for each in answers.each()] == [[0, 1], [], [2, 3, 4]]
    assert answers.mean_by_item(np.array([1.0, 3, 1, 1, 4])).tolist() == [2, 0, 2]
