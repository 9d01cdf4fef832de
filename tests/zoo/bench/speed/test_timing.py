"""Timing in turns and what is made of it."""

import time

import torch

from zoo.bench.speed.timing import Spread, in_turns, matrix_rate


def test_the_interval_holds_the_middle_ranks() -> None:
    spread = Spread.of([float(i) for i in range(1, 12)])
    assert (spread.median, spread.low, spread.high) == (6.0, 2.0, 10.0)  # ranks 2 and 10 of 11: 98.8 %


def test_few_values_give_their_range() -> None:
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0)


def test_turns_alternate_and_count_only_timed_runs() -> None:
    calls: list[str] = []
    ours, theirs = in_turns(lambda: calls.append("a"), lambda: calls.append("b"), rounds=2)
    assert (len(ours), len(theirs)) == (2, 2)
    assert "".join(calls) == "baabbaab"


def test_the_slower_takes_longer() -> None:
    ours, theirs = in_turns(lambda: None, lambda: time.sleep(0.01), rounds=3)
    assert max(ours) < min(theirs)


def test_a_matrix_product_has_a_rate() -> None:
    assert matrix_rate(torch.float32, size=64, repeats=1) > 0
