"""What a decision costs: money for labels and for training."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from zoo.bench.decision.bootstrap import Interval
from zoo.bench.decision.labels import FAR, rounds
from zoo.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Hold what a label and an hour of training cost, in any currency; None where that is not asked for.

    Raises:
        ConfigError: If a price is negative or no number.
    """

    label: float | None = None
    hour: float | None = None

    def __post_init__(self) -> None:
        for what, price in (("label_cost", self.label), ("hour_cost", self.hour)):
            if price is not None and not 0 <= price < math.inf:
                raise ConfigError(f"{what}={price}: a price is a number from 0 on")

    @property
    def asked(self) -> bool:
        """Whether any price is given."""
        return self.label is not None or self.hour is not None


@dataclass(frozen=True)
class Cost:
    """Hold the cost of the labels and of the training, from the lower to the upper end of what is needed.

    Args:
        labels: money; None where a label has no price.
        training: money; None where an hour has no price.
        hours: of training.
    """

    labels: Interval | None
    training: Interval | None
    hours: Interval

    @property
    def total(self) -> float:
        """Give the money in all, as estimated."""
        return sum(part.value for part in (self.labels, self.training) if part)


def cost_of(have: int, size: Interval, prices: Prices, seconds: Callable[[int], float], runs: int) -> Cost:
    """Give the cost of the rounds up to a size; ends beyond ten times what there is are counted as that.

    Args:
        have: labels that there are.
        size: that is needed.
        prices: of a label and an hour.
        seconds: of one training on so many examples.
        runs: trainings after each round.
    """

    def over(spent: Callable[[float], float]) -> Interval:
        return size.mapped(lambda end: spent(min(end, float(FAR * have))))

    def trained(end: float) -> float:
        return sum(runs * seconds(total) for total in rounds(have, Interval(end, end, end))) / 3600

    hours = over(trained)
    return Cost(
        None if prices.label is None else over(lambda end: end - have).scaled(prices.label),
        None if prices.hour is None else hours.scaled(prices.hour),
        hours,
    )
