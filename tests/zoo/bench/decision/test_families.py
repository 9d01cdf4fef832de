from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import curve_fit

from zoo.bench.decision.bootstrap import Array
from zoo.bench.decision.families import (
    EXPONENTIAL,
    FAMILIES,
    LOGARITHM,
    POWER_LAW,
    POWER_LAW_WITH_FLOOR,
    Family,
    Fits,
    fit,
    weights_of,
)

SIZES = (100, 300, 1000, 3000, 10000)
N = np.array(SIZES, float)
LAWS = {
    "power law": 3 * N**-0.4,
    "logarithm": 0.95 - 0.09 * np.log(N),
    "power law with floor": 4 * N**-0.5 + 0.12,
    "exponential": 0.6 * np.exp(-N / 1500) + 0.15,
}
NOISE = np.array([0.02, -0.01, 0.015, -0.005, 0.004])
WEIGHTS = np.array([1.0, 2.0, 4.0, 9.0, 25.0])


def fitted(family: Family, noise: float = 0.0) -> Fits:
    return fit(family, SIZES, (LAWS[family.name] + noise * NOISE)[None], WEIGHTS)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_curve_of_a_family_is_fitted_exactly(family: Family) -> None:
    assert fitted(family)(SIZES)[0] == pytest.approx(LAWS[family.name], rel=1e-4)


@pytest.mark.parametrize(
    ("family", "formula", "start"),
    [
        (POWER_LAW, lambda n, a, b: a * n**-b, (3, 0.4)),
        (LOGARITHM, lambda n, a, c: c - a * np.log(n), (0.1, 1)),
        (POWER_LAW_WITH_FLOOR, lambda n, a, b, c: a * n**-b + c, (4, 0.5, 0.1)),
        (EXPONENTIAL, lambda n, a, b, c: a * np.exp(-b * n) + c, (0.6, 1 / 1500, 0.1)),
    ],
    ids=lambda each: each.name if isinstance(each, Family) else "",
)
def test_a_noisy_fit_is_that_of_scipy(family: Family, formula: Callable[..., Array], start: tuple[float, ...]) -> None:
    """Ours takes a thousand rows at once and no start value; from a good one, SciPy finds the same."""
    rows = LAWS[family.name] + NOISE
    best, _ = curve_fit(formula, N, rows, start, sigma=WEIGHTS**-0.5, maxfev=20000)
    assert fitted(family, 1.0)(SIZES)[0] == pytest.approx(formula(N, *best), rel=2e-3)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_size_is_found_at_which_the_fitted_curve_has_an_error(family: Family) -> None:
    found = fitted(family, 1.0)
    assert found.reaching(found([700])[:, 0])[0] == pytest.approx(700)


def test_a_curve_never_comes_below_its_floor() -> None:
    found = fitted(POWER_LAW_WITH_FLOOR)
    assert np.isinf(found.reaching(np.array([0.119])))
    assert found.reaching(np.array([0.121]))[0] == pytest.approx(16_000_000, rel=0.1)
    assert found.c[0] == pytest.approx(0.12, rel=1e-3)


def test_a_curve_that_rises_is_fitted_by_a_level_one() -> None:
    for family in FAMILIES[1:]:
        found = fit(family, SIZES, np.array([[0.3, 0.35, 0.4, 0.4, 0.5]]), np.ones(5))
        assert found.reaching(np.array([0.2])) == np.inf
        assert found([100])[0, 0] == pytest.approx(found([10**6])[0, 0])


def test_rows_are_fitted_one_by_one() -> None:
    rows = np.stack(list(LAWS.values()))
    together = fit(EXPONENTIAL, SIZES, rows, WEIGHTS)(SIZES)
    for row, each in zip(rows, together, strict=True):
        assert fit(EXPONENTIAL, SIZES, row[None], WEIGHTS)(SIZES)[0] == pytest.approx(each, rel=1e-9)


def test_a_size_whose_seeds_differ_weighs_less() -> None:
    draws = 0.4 + np.random.default_rng(0).normal(0, [0.1, 0.01, 0.01], (500, 3))
    weights = weights_of(np.full(3, 0.4), draws)
    assert weights[0] < weights[1] / 1.5
    assert np.all(weights_of(np.full(3, 0.4), np.full((5, 3), 0.4)) == 1 / 0.4**2)


def test_models_without_an_error_are_fitted() -> None:
    assert fit(POWER_LAW, SIZES, np.zeros((1, 5)), weights_of(np.zeros(5), np.zeros((9, 5))))(SIZES) == pytest.approx(
        0, abs=1e-5
    )
