"""Choice of a learning rate on validation, for runs whose looks at it are stored."""

from collections.abc import Sequence
from statistics import fmean

from zoo.bench.grid.engine import Record


def chosen(runs: Sequence[Record]) -> list[Record]:
    """Give the runs of the rate with the best mean validation accuracy; of several, the one that took fewest steps.

    A rate of which a seed failed or is missing is not chosen, where another has more.
    """
    rates: dict[float, list[Record]] = {}
    for run in runs:
        rates.setdefault(run["config"]["learning_rate"], []).append(run)
    most = max(map(len, rates.values()))
    return max((each for each in rates.values() if len(each) == most), key=_validation)


def _validation(runs: Sequence[Record]) -> tuple[float, float]:
    last = [run["looks"][-1] for run in runs]
    return fmean(accuracy for _, accuracy in last), -fmean(steps for steps, _ in last)
