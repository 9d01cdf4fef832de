import math
from collections.abc import Callable

import numpy as np
import pytest

from zoo.bench.decision.backtest import Check, check_crossing, check_error, check_labels
from zoo.bench.decision.bootstrap import Interval
from zoo.bench.decision.curve import Curve
from zoo.bench.decision.curve_fit import Crossover

MakeCurve = Callable[..., Curve]


def test_a_curve_of_one_law_is_predicted(make_curve: MakeCurve) -> None:
    curve = make_curve(lambda n: 3 * n**-0.4, 0.004)
    error, labels = check_error(curve), check_labels(curve)
    assert error
    assert error.held
    assert error.predicted
    assert error.measured == pytest.approx(curve.errors[-1])
    assert error.predicted.value == pytest.approx(curve.errors[-1], rel=0.1)
    assert labels
    assert labels.held
    assert labels.measured == 10000
    assert labels.predicted
    assert labels.predicted.value == pytest.approx(10000, rel=0.3)


def test_a_prediction_knows_nothing_of_the_largest_size(make_curve: MakeCurve) -> None:
    curve = make_curve(lambda n: 3 * n**-0.4, 0.004)
    broken = Curve("net", curve.sizes, np.array([*curve.errors[:-1], 0.01]), curve.draws)
    before, after = check_error(curve), check_error(broken)
    assert before
    assert after
    assert before.predicted == after.predicted
    assert (before.held, after.held) == (True, False)


def test_no_error_below_zero_is_predicted(make_curve: MakeCurve) -> None:
    check = check_error(make_curve(lambda n: 100 * n**-0.9, 0.1))
    assert check
    assert check.predicted
    assert check.predicted.low == 0 <= check.predicted.value


def test_what_is_not_followed_is_not_checked(make_curve: MakeCurve) -> None:
    assert check_error(make_curve(lambda n: 3 * n**-0.4, sizes=(100, 300, 1000))) is None
    assert check_error(make_curve(lambda n: np.array([0.5, 0.3, 0.4, 0.35, 0.2]), 0.005)) is None
    assert check_labels(make_curve(lambda n: np.array([0.5, 0.4, 0.3, 0.2, 0.25]))) is None


FOUND = Crossover("extrapolated", Interval(5000.0, 3500.0, 20000.0), 0.0)
NONE = Crossover("none", None, 0.0)


def crossed(at: float) -> Crossover:
    return Crossover("measured", Interval(at, at, at), 1.0)


@pytest.mark.parametrize(
    ("before", "after", "held"),
    [
        (FOUND, crossed(6000.0), True),
        (FOUND, crossed(3100.0), False),
        (FOUND, NONE, True),  # it may come yet
        (Crossover("extrapolated", Interval(5000.0, 3500.0, 8000.0), 0.0), NONE, False),
        (NONE, crossed(6000.0), False),
        (NONE, Crossover("extrapolated", Interval(50000.0, 10000.0, math.inf), 0.0), True),
    ],
)
def test_a_crossing_holds_where_its_interval_does(before: Crossover, after: Crossover, held: bool) -> None:
    measured = after.size.value if after.kind == "measured" and after.size else None
    assert check_crossing(before, after, 10000) == Check(before.size, measured, held)


def test_a_crossing_that_was_there_before_is_no_prediction() -> None:
    assert check_crossing(crossed(500.0), crossed(500.0), 10000) is None
    assert check_crossing(None, crossed(500.0), 10000) is None
