import numpy as np
import pytest
from scipy.stats import binom

from zoo.bench.decision.bootstrap import Interval, bootstrap, draw_examples, guessing_limit, interval


def test_the_interval_covers_seeds_and_examples() -> None:
    rng = np.random.default_rng(0)
    weights = draw_examples(400, rng)
    same = [rng.random(400) < 0.5] * 3
    apart = [rng.random(400) < p for p in (0.3, 0.5, 0.7)]
    narrow, wide = (interval(0.5, bootstrap(bits, weights, rng)) for bits in (same, apart))
    assert narrow.half == pytest.approx(1.96 * 0.5 / 20, rel=0.15)
    assert wide.half > 2 * narrow.half


def test_of_one_seed_no_interval_is_written() -> None:
    assert str(Interval(0.5, 0.4, 0.7)) == "0.500 ± 0.150"
    assert str(Interval(4.4783, 4.4783, 4.4783)) == "4.478"


@pytest.mark.parametrize(("chance", "answers"), [(0.1, 60), (0.104, 6000), (0.5, 6), (0.5, 200), (0.9, 50)])
def test_the_limit_of_guessing_is_the_quantile_of_the_binomial_distribution(chance: float, answers: int) -> None:
    assert guessing_limit(chance, answers) * answers == pytest.approx(binom.isf(0.001, answers, chance))


def test_nothing_exceeds_the_only_class() -> None:
    assert guessing_limit(1.0, 10) == 1.0
