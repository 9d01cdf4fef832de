import math
from collections.abc import Callable

import numpy as np
import pytest

from zoo.bench.decision.bootstrap import Interval
from zoo.bench.decision.curve import Curve
from zoo.bench.decision.labels import labels_for, rounds, why_not

MakeCurve = Callable[..., Curve]


def test_the_labels_for_an_error_are_found_on_the_curve(make_curve: MakeCurve) -> None:
    found = labels_for(make_curve(lambda n: 3 * n**-0.4, 0.002), 3 * 20000**-0.4)
    assert found.size
    assert found.size.value == pytest.approx(20000, rel=0.1)
    assert found.size.low < 20000 < found.size.high
    assert (found.reached, found.reason) == (False, "")


def test_an_error_that_was_measured_is_reached_where_it_stays(make_curve: MakeCurve) -> None:
    curve = make_curve(lambda n: np.array([0.5, 0.3, 0.31, 0.29, 0.2]))
    found = labels_for(curve, 0.3)
    assert (found.reached, found.expected) == (True, 3000)
    assert labels_for(curve, 0.6).expected == 100


def test_an_error_below_the_floor_is_never_reached(make_curve: MakeCurve) -> None:
    found = labels_for(make_curve(lambda n: 4 * n**-0.5 + 0.12), 0.05)
    assert found.expected == math.inf
    assert found.selection


def test_a_curve_that_rises_or_is_too_short_is_not_followed(make_curve: MakeCurve) -> None:
    rising = make_curve(lambda n: np.array([0.5, 0.3, 0.4, 0.35, 0.2]), 0.005)
    assert labels_for(rising, 0.1).reason.startswith("has an error that rises from 300 to 1,000 examples")
    short = make_curve(lambda n: 3 * n**-0.4, sizes=(100, 1000))
    assert why_not(short) == "has 2 sizes above chance, and a curve takes at least 3, better 4"
    empty = Curve("net", [], np.zeros(0), np.zeros((9, 0)))
    assert "above chance" in labels_for(empty, 0.1).reason


def test_rounds_double_stop_at_the_estimate_and_end_at_the_upper_end() -> None:
    assert rounds(1000, Interval(3000.0, 2000.0, 7000.0)) == [2000, 3000, 6000, 7000]
    assert rounds(1000, Interval(1050.0, 1000.0, 1500.0)) == [1500]
    assert rounds(1000, Interval(1000.0, 1000.0, 1000.0)) == []


def test_no_round_goes_beyond_ten_times_what_there_is() -> None:
    assert rounds(1000, Interval(50000.0, 9000.0, math.inf)) == [2000, 4000, 8000, 10000]
