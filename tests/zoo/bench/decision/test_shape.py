from collections.abc import Callable

import numpy as np

from zoo.bench.decision.curve import Curve
from zoo.bench.decision.shape import rise

MakeCurve = Callable[..., Curve]


def test_a_clear_rise_is_found_with_its_sizes(make_curve: MakeCurve) -> None:
    assert rise(make_curve(lambda n: np.array([0.5, 0.3, 0.4, 0.35, 0.2]), 0.005)) == (300, 1000)


def test_a_rise_within_the_noise_is_none(make_curve: MakeCurve) -> None:
    assert rise(make_curve(lambda n: np.array([0.5, 0.4, 0.404, 0.3, 0.2]), 0.02)) is None
    assert rise(make_curve(lambda n: 3 * n**-0.4, 0.005)) is None


def test_level_curves_are_seldom_called_rising(make_curve: MakeCurve) -> None:
    called = [rise(make_curve(lambda n: 0.3 + 0 * n, 0.02, seed)) is not None for seed in range(60)]
    assert sum(called) <= 9


def test_a_rise_without_any_noise_is_one() -> None:
    assert rise(Curve("net", [10, 20], np.array([0.1, 0.2]), np.tile([0.1, 0.2], (9, 1)))) == (10, 20)
    assert rise(Curve("net", [10, 20], np.array([0.2, 0.2]), np.full((9, 2), 0.2))) is None
