"""Costs: the prediction grows with work and calls, and inner loops approach the rate of their table."""

import pytest

from zoo.core.backends.costs import BANDED, EDGES, KERNEL_START, Cost, Speed


def test_work_is_operations_over_the_rate_and_the_start_of_kernels() -> None:
    assert Cost(100, 0, "", rate=0.5, calls=3).work == 200 + 3 * KERNEL_START


@pytest.mark.parametrize("speed", [BANDED, EDGES])
def test_an_inner_loop_of_the_size_of_its_overhead_has_half_the_rate(speed: Speed) -> None:
    assert speed.at(speed.overhead) == speed.rate / 2
    assert speed.at(1000 * speed.overhead) == pytest.approx(speed.rate, rel=0.01)
