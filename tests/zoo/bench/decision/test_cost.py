import math

import pytest

from zoo.bench.decision.bootstrap import Interval
from zoo.bench.decision.cost import Prices, cost_of
from zoo.errors import ConfigError


def test_labels_and_training_are_paid_round_by_round() -> None:
    prices = Prices(label=0.08, hour=2.0)
    found = cost_of(1000, Interval(3000.0, 2000.0, 4000.0), prices, lambda size: size * 1.8, runs=3)
    assert found.labels
    assert (found.labels.value, found.labels.low, found.labels.high) == pytest.approx((160, 80, 240))
    assert found.hours.value == pytest.approx(3 * 1.8 * (2000 + 3000) / 3600)
    assert found.training
    assert found.training.low == pytest.approx(2 * 3 * 1.8 * 2000 / 3600)
    assert found.total == pytest.approx(160 + 15)


def test_what_has_no_price_is_not_summed() -> None:
    found = cost_of(1000, Interval(3000.0, 2000.0, math.inf), Prices(label=1.0), lambda size: 1.0, runs=1)
    assert (found.training, found.total) == (None, 2000)
    assert found.labels
    assert found.labels.high == 9000


@pytest.mark.parametrize("price", [-0.1, math.nan, math.inf])
def test_a_price_that_is_none_is_refused(price: float) -> None:
    with pytest.raises(ConfigError, match=f"label_cost={price}: a price is a number from 0 on"):
        Prices(label=price)
