import numpy as np
import pytest

from zoo.bench.decision.bootstrap import Array
from zoo.bench.decision.curve_fit import Crossover, find_crossover, fit_power_law

SIZES = [100, 300, 1000, 3000, 10000]
N = np.array(SIZES, float)


def law(a: float, b: float, c: float) -> Array:
    return a * N**-b + c


def noisy(values: Array, scale: float = 0.01, seed: int = 0) -> Array:
    return values + np.random.default_rng(seed).normal(0, scale, (400, len(values)))


def crossing(first: Array, second: Array, scale: float = 0.005) -> Crossover:
    return find_crossover(SIZES, first, second, draws=(noisy(first, scale, 1), noisy(second, scale, 2)))


@pytest.mark.parametrize(("a", "b", "c"), [(3, 0.5, 0), (2, 0.3, 0.05), (5, 0.6, 0.1)])
def test_a_power_law_is_recovered(a: float, b: float, c: float) -> None:
    errors = law(a, b, c).clip(0, 1)
    found = fit_power_law(SIZES, law(a, b, c) / 10, noisy(law(a, b, c) / 10, 0.001))
    assert errors.max() <= 1
    assert found
    assert (found.a.value, found.b.value, found.c.value) == pytest.approx((a / 10, b, c / 10), rel=0.1, abs=2e-3)
    assert found.b.low <= found.b.value <= found.b.high
    assert found.misfit < 0.01
    assert found(N) == pytest.approx(law(a, b, c) / 10, rel=0.02)


def test_what_is_no_power_law_has_a_large_misfit() -> None:
    errors = np.array([0.9, 0.9, 0.9, 0.2, 0.1])
    found = fit_power_law(SIZES, errors, noisy(errors))
    assert found
    assert found.misfit > 0.2


def test_two_sizes_are_too_few_for_a_fit() -> None:
    assert fit_power_law([1, 2], np.array([0.5, 0.4]), np.full((3, 2), 0.5)) is None


def test_the_crossing_is_found_where_the_curves_cross() -> None:
    x = np.log(N)
    found = crossing(0.5 + 0 * x, 1 - 0.5 * np.exp(-0.1 * (x - np.log(2000))))
    assert found.kind == "measured"
    assert found.size
    assert found.size.value == pytest.approx(2000, rel=0.01)
    assert found.size.low < 2000 < found.size.high
    assert found.share == 1


def test_no_crossing_where_the_first_stays_ahead() -> None:
    found = crossing(1 - law(2, 0.5, 0.0), 1 - law(4, 0.5, 0.1))
    assert (found.kind, found.size) == ("none", None)


def test_a_crossing_beyond_the_sizes_is_extrapolated() -> None:
    found = crossing(1 - law(1.0, 0.2, 0.0), 1 - law(4.0, 0.34, 0.0), 0.001)
    assert found.kind == "extrapolated"
    assert found.size
    assert found.size.value == pytest.approx(4 ** (1 / 0.14), rel=0.25)
    assert found.share < 0.5


def test_a_challenger_that_always_leads() -> None:
    assert crossing(1 - law(4, 0.5, 0.1), 1 - law(2, 0.5, 0.0)).kind == "always"


def test_only_the_last_of_several_crossings_counts() -> None:
    found = crossing(np.full(5, 0.5), np.array([0.6, 0.4, 0.6, 0.4, 0.6]))
    assert found.size
    assert 3000 < found.size.value < 10000


def test_an_unsure_crossing_reaches_to_infinity() -> None:
    found = crossing(np.full(5, 0.5), np.array([0.3, 0.3, 0.3, 0.4, 0.505]), 0.02)
    assert found.size
    assert found.size.high == np.inf
    assert 0.4 < found.share < 0.9


def test_a_level_curve_has_an_exponent_of_zero_without_a_sign() -> None:
    found = fit_power_law(SIZES, np.full(5, 0.9), noisy(np.full(5, 0.9)))
    assert found
    assert f"{found.b.value:.3g}, {found.b.low:.3g}" == "0, 0"
