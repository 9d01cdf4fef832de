"""What trainings cost, in seconds and in operations: curves over it, where they cross, and who is best for a budget.

The operations of a run are its multiply-adds: 3 x those of a forward pass x the examples seen, since the backward pass
costs about twice the forward one (arXiv:2001.08361 sec. 2.1).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean

import numpy as np

from zoo.bench.decision.bootstrap import interval
from zoo.bench.decision.curve_fit import Crossover, measured_crossover
from zoo.bench.grid.engine import Record
from zoo.bench.learning_curve.results.entries import ModelEntry
from zoo.bench.learning_curve.results.study import Study

FORWARD_AND_BACKWARD = 3
AXES: Mapping[str, str] = {"seconds": "seconds of training", "operations": "multiply-adds of training"}
ROWS = 6
"""Budgets of a table at most."""
_UNITS = ("", " k", " M", " G", " T", " P", " E")


@dataclass(frozen=True, kw_only=True)
class Best:
    """Tell what contestants reach for a budget.

    Args:
        budget: seconds or operations of one training.
        sizes: of each contestant, the largest measured size whose training costs no more; none where all cost more.
        leaders: the one with the best score, and those that are not clearly behind it.
    """

    budget: float
    sizes: Mapping[str, int]
    leaders: Sequence[str]


def operations(study: Study, entry: ModelEntry, record: Record) -> int | None:
    """Give the multiply-adds of a finished run; None where it does not tell those of the model.

    A linear probe has read each example once, without gradients, and tells what that took.
    """
    if "training_multiply_adds" in record:
        return int(record["training_multiply_adds"])
    run = record["config"]
    steps = run.get("steps", study.steps[run["size"]])
    seen = steps * min(run.get("batch_size", entry.recipe.batch_size), run["size"])
    return FORWARD_AND_BACKWARD * record["multiply_adds"] * seen if record.get("multiply_adds") else None


def spent(study: Study, axis: str) -> dict[tuple[str, int], float]:
    """Give the mean cost of a training of each point; nothing where a run does not tell it."""
    found = {}
    for entry in study.models:
        for size in study.sizes_of(entry.name):
            runs = study.runs(entry.name, size)
            costs = [run.get("seconds") if axis == "seconds" else operations(study, entry, run) for run in runs]
            found[entry.name, size] = [cost for cost in costs if cost]
            if len(found[entry.name, size]) < len(runs):
                return {}
    return {at: float(mean(costs)) for at, costs in found.items()}


def is_rising(costs: Sequence[float]) -> bool:
    """Tell whether each cost is above the one before, so that they order the points."""
    return all(first < second for first, second in pairwise(costs))


def axes_of(study: Study) -> dict[str, str]:
    """Give the axes on which every point has a place, with their titles."""
    return {axis: title for axis, title in AXES.items() if spent(study, axis)}


def crossover_over(study: Study, axis: str) -> Crossover | None:
    """Find the cost of a training from which on self-attention leads the CNN for good.

    The curves are those over the number of examples, each point at its mean cost; between two the error is interpolated
    as the figure draws it, log error over log cost. What is compared are costs at which both have one; nothing is
    extrapolated, and sizes at which both are at chance are left out. None where there is no pair, no such cost, no
    clear difference, or more examples do not cost more, as with equal steps: what is measured then is noise.
    """
    pair, costs = study.pair(), spent(study, axis)
    if not pair or not costs:
        return None
    compared = study.compared(*pair)
    sizes = {name: [size for size in study.sizes_of(name) if size in compared] for name in pair}
    spent_on = [[costs[name, size] for size in sizes[name]] for name in pair]
    if any(len(each) < 2 or not is_rising(each) for each in spent_on) or all(map(study.at_chance, pair)):
        return None
    logs = list(map(np.log, spent_on))
    low, high = max(each[0] for each in logs), min(each[-1] for each in logs)
    if low >= high:
        return None
    grid = np.unique(np.clip(np.concatenate(logs), low, high))
    rows = [np.vstack([study.values(name, sizes[name]), study.replicates(name, sizes[name])]) for name in pair]
    errors = [np.log(np.clip(1 - each, 1e-4, 1)) for each in rows]
    first, second = (
        1 - np.exp(np.stack([np.interp(grid, own, row) for row in error]))
        for own, error in zip(logs, errors, strict=True)
    )
    gaps = [interval(float(gap[0]), gap[1:]) for gap in (second - first).T]
    if not any(gap.low > 0 or gap.high < 0 for gap in gaps):
        return None
    return measured_crossover(np.exp(grid), first[0], second[0], draws=(first[1:], second[1:]))


def best_at(study: Study, axis: str) -> list[Best]:
    """Tell for a few budgets who is best, by the points that were measured."""
    costs = spent(study, axis)
    found = []
    for budget in budgets(list(costs.values())):
        sizes = {
            entry.name: max(affordable)
            for entry in study.models
            if (affordable := [size for size in study.sizes_of(entry.name) if costs[entry.name, size] <= budget])
        }
        points = {name: study.points[name, size] for name, size in sizes.items()}
        first = max(points, key=lambda name: points[name].value)
        near = [
            name
            for name, point in points.items()
            if points[first].value - point.value <= math.hypot(point.half, points[first].half)
        ]
        found.append(Best(budget=budget, sizes=sizes, leaders=sorted(near, key=lambda name: -points[name].value)))
    return found


def budgets(costs: Sequence[float]) -> list[float]:
    """Give round numbers from the lowest cost to the first that pays for all."""
    if not costs:
        return []
    for digits in ((1, 2, 5), (1, 3), (1,)):
        powers = range(math.floor(math.log10(min(costs))), math.ceil(math.log10(max(costs))) + 1)
        ladder = [digit * 10.0**power for power in powers for digit in digits]
        above = [each for each in ladder if each >= min(costs)]
        inside = [each for number, each in enumerate(above) if number == 0 or above[number - 1] < max(costs)]
        if len(inside) <= ROWS:
            break
    return inside


def cost_text(value: float, axis: str) -> str:
    """Write a cost in a few letters: seconds, or multiply-adds with a prefix."""
    if axis == "seconds":
        return f"{float(f'{value:.2g}'):,g} s"
    power = min(max(int(math.log10(max(value, 1)) // 3), 0), len(_UNITS) - 1)
    return f"{value / 1000**power:.3g}{_UNITS[power]}"
