from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from zoo.bench.decision.bootstrap import Array
from zoo.bench.decision.curve import Curve
from zoo.bench.decision.families import FAMILIES, fit, weights_of
from zoo.bench.decision.selection import select

MakeCurve = Callable[..., Curve]
Law = Callable[[Array], Array]
LAWS: dict[str, tuple[Law, tuple[int, ...], int]] = {
    "power law": (lambda n: 3 * n**-0.4, (100, 300, 1000, 3000, 10000), 25000),
    "logarithm": (lambda n: 0.95 - 0.09 * np.log(n), (100, 300, 1000, 3000, 10000), 25000),
    "power law with floor": (lambda n: 4 * n**-0.5 + 0.12, (100, 300, 1000, 3000, 10000), 25000),
    "exponential": (lambda n: 0.6 * np.exp(-n / 1500) + 0.15, (100, 300, 700, 1500, 3000), 4000),
}


@pytest.mark.parametrize("name", LAWS)
def test_the_family_of_a_curve_is_chosen(make_curve: MakeCurve, name: str) -> None:
    law, sizes, _ = LAWS[name]
    found = select(make_curve(law, sizes=sizes))
    assert found
    assert found.chosen.fits.family.name == name
    assert not found.refuted


@pytest.mark.parametrize("name", LAWS)
def test_intervals_hold_the_size_that_a_known_curve_needs(make_curve: MakeCurve, name: str) -> None:
    """About 95 of 100 do; of 30 at 95 %, fewer than 24 do once in a thousand times."""
    law, sizes, needed = LAWS[name]
    held = 0
    for seed in range(30):
        found = select(make_curve(law, 0.008, seed, sizes))
        assert found
        size = found.size_at(float(law(np.array([float(needed)]))[0]))
        held += size.low <= needed <= size.high
    assert held >= 24


def test_the_held_out_error_is_that_of_a_fit_without_the_largest_size(make_curve: MakeCurve) -> None:
    curve = make_curve(lambda n: 3 * n**-0.4, 0.01)
    found = select(curve)
    assert found
    weights = weights_of(curve.errors, curve.draws)[:-1]
    predicted = fit(found.chosen.fits.family, curve.sizes[:-1], curve.errors[None, :-1], weights)([10000])[0, 0]
    assert found.chosen.off
    assert found.chosen.off.value == pytest.approx(predicted - curve.errors[-1])
    assert found.predicted == pytest.approx(predicted)
    assert found.held_out == 10000


def test_of_families_that_predict_alike_the_simpler_is_chosen(make_curve: MakeCurve) -> None:
    """A power law is one with a floor of 0, too."""
    found = select(make_curve(lambda n: 3 * n**-0.4, 0.005))
    assert found
    assert found.chosen.fits.family.parameters == 2
    assert "power law with floor" in [trial.fits.family.name for trial in found.left]


def test_of_three_sizes_a_floor_is_not_chosen_but_not_excluded_either(make_curve: MakeCurve) -> None:
    found = select(make_curve(lambda n: 4 * n**-0.5 + 0.12, sizes=(100, 1000, 10000)))
    assert found
    assert found.chosen.fits.family.parameters == 2
    assert found.size_at(0.12).high == np.inf
    assert select(make_curve(lambda n: 3 * n**-0.4, sizes=(100, 1000))) is None


def test_where_every_family_is_refuted_what_the_nearest_missed_widens_the_interval(make_curve: MakeCurve) -> None:
    curve = make_curve(lambda n: np.where(n < 5000, 0.95 - 0.02 * np.log(n), 0.16))
    found = select(curve)
    assert found
    assert found.refuted
    assert len(found.left) == 1
    assert found.chosen.unexplained > 1
    blind = replace(found, left=[replace(found.chosen, unexplained=0.0)])
    wide, narrow = (each.error_at(20000) for each in (found, blind))
    assert (wide.high - wide.low) > 3 * (narrow.high - narrow.low)


def test_every_family_says_its_formula() -> None:
    assert len({family.formula for family in FAMILIES}) == len(FAMILIES) == 4
