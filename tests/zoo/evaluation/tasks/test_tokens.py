"""Perplexity and bits per character of sums over tokens."""

import math

import numpy as np
import pytest

from zoo.evaluation.judge import Item
from zoo.evaluation.tasks.tokens import TokenJudge, TokenSums


def test_a_uniform_guess_has_the_perplexity_of_the_vocabulary() -> None:
    sums = [TokenSums(3 * math.log(16), 1, 3, 6), TokenSums(5 * math.log(16), 0, 5, 10)]
    judge = TokenJudge([Item("test", 0), Item("test", 1)], sums)
    found = judge.scores(np.array([0, 1]))
    assert found["perplexity"] == pytest.approx(16)
    assert found["bits per character"] == pytest.approx(4 * 8 / 16)
    assert found["token accuracy"] == 1 / 8


def test_where_nobody_knows_the_characters_no_bits_are_told() -> None:
    assert "bits per character" not in TokenJudge([Item("test", 0)], [TokenSums(1.0, 0, 1)]).scores(np.array([0]))
