"""Results of a data-size study: points, fits and crossings, computed from its records alone."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from zoo.bench.decision.backtest import Check, check_crossing
from zoo.bench.decision.bootstrap import (
    Array,
    Interval,
    bootstrap,
    bootstrap_seeds,
    draw_examples,
    guessing_limit,
    interval,
)
from zoo.bench.decision.class_scores import ClassScores, class_scores, mean_log_loss
from zoo.bench.decision.curve import Curve
from zoo.bench.decision.curve_fit import Crossover, PowerLaw, find_crossover, fit_power_law
from zoo.bench.decision.shape import rise
from zoo.bench.grid.engine import Record
from zoo.bench.learning_curve.results.entries import Data, ModelEntry, score_of
from zoo.bench.learning_curve.training.tested import unpack, unpack_classes
from zoo.errors import ConfigError
from zoo.spec import Kind

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

    from zoo.bench.learning_curve.decide import Decision


@dataclass(frozen=True, kw_only=True)
class Study:
    """Hold a study's records and answer questions about them.

    Args:
        models: in the order of the report.
        steps: number of training examples to optimiser steps, ascending.
        seeds: wanted at each size.
        records: of finished and failed runs; each has its `config`.
    """

    models: Sequence[ModelEntry]
    data: Data
    steps: Mapping[int, int]
    seeds: int
    records: Sequence[Record]
    folder: Path
    most_steps: int = 0
    """Most optimiser steps that the rule for steps gives any size, larger ones too; 0 for the last of `steps`."""
    table: ClassVar[Callable[["Study"], "Table"]]
    """Lay out accuracies and intervals by size, for the terminal; `zoo.bench.learning_curve.command` sets it."""
    plot: ClassVar[Callable[["Study"], "Figure"]]
    """Draw test error over training examples; `zoo.bench.learning_curve.command` sets it."""
    decision: ClassVar[Callable[..., "Decision"]]
    """Tell how many labels a target takes, see `decide`; `zoo.bench.learning_curve.command` sets it."""

    @property
    def contestants(self) -> Sequence[ModelEntry]:
        """Give `models`, by their former name."""
        return self.models

    @property
    def kinds(self) -> dict[str, Kind]:
        """Give the kind of each model, by its name."""
        return {entry.name: entry.kind for entry in self.models}

    @property
    def sizes(self) -> list[int]:
        """Give the numbers of training examples."""
        return list(self.steps)

    @property
    def failures(self) -> list[Record]:
        """Give the runs that failed."""
        return [record for record in self.records if "error" in record]

    @cached_property
    def points(self) -> dict[tuple[str, int], Interval]:
        """Give the mean test score of each model at each size that has a finished run."""
        return {at: interval(value, self._draws[at]) for at, value in self._means.items()}

    @cached_property
    def class_scores(self) -> dict[tuple[str, int], ClassScores]:
        """Give balanced accuracy, worst class and log-loss of each point, as far as its runs tell them."""
        rng, found = np.random.default_rng(0), {}
        for at, records in self._finished.items():
            told, scores = [record.get("classes", "") for record in records], ClassScores()
            if told[0] and len(set(told)) == 1:
                classes = unpack_classes(told[0])
                right = [unpack(record["correct"]) for record in records]
                scores = class_scores(right, classes, draw_examples(len(classes), rng), rng)
            if all("log_loss" in record for record in records):
                scores = replace(scores, log_loss=mean_log_loss([record["log_loss"] for record in records], rng))
            if scores != ClassScores():
                found[at] = scores
        return found

    def runs(self, name: str, size: int) -> list[Record]:
        """Give the finished runs of one model at one size, by seed."""
        return self._finished.get((name, size), [])

    def sizes_of(self, *names: str) -> list[int]:
        """Give the sizes at which all of these models have a point."""
        return [size for size in self.sizes if all((name, size) in self._means for name in names)]

    def curve(self, name: str) -> Curve:
        """Give the errors of a model and their replicates, from the first size on at which it is above chance.

        The mean over drawn seeds varies less than that over new ones, by (seeds - 1) / seeds of the variance; the
        replicates are the further from the mean.
        """
        sizes = self.sizes_of(name)
        while sizes and self.at_chance(name, sizes[0]):
            sizes = sizes[1:]
        means = np.array([self._means[name, size] for size in sizes])
        draws = np.array([self._draws[name, size] for size in sizes]).T
        counts = np.array([len(self.runs(name, size)) for size in sizes])
        wider = np.sqrt(counts / np.maximum(counts - 1, 1))
        return Curve(name, sizes, self.data.best - means, self.data.best - (means + (draws - means) * wider))

    @cached_property
    def without_largest(self) -> "Study":
        """Give the study as it was before the largest size."""
        steps = {size: self.steps[size] for size in self.sizes[:-1]}
        return replace(self, steps=steps, records=[each for each in self.records if each["config"]["size"] in steps])

    def check_crossing(self, first: str = "", second: str = "") -> Check | None:
        """Tell whether the largest size showed the crossing that the smaller ones predict; None below four sizes."""
        if len(self.sizes) < 4:
            return None
        before, after = (study.crossover(first, second) for study in (self.without_largest, self))
        return check_crossing(before, after, self.sizes[-1])

    def at_chance(self, name: str, size: int | None = None) -> bool:
        """Tell whether a model's test accuracy does not clearly exceed that of always answering the largest class.

        It does where its 95 % interval lies above chance, and its mean above what guessing over all test examples and
        seeds would give once in a thousand times. Scores that are no accuracies have no chance level here.

        Args:
            name: of the model.
            size: number of training examples; None for all at which the model has a point.
        """
        sizes = [size] if size is not None else self.sizes_of(name)
        return bool(sizes) and all((name, each) in self._guessing for each in sizes)

    def too_few_tests(self, name: str) -> int:
        """Count the test examples where they cannot tell a model from chance that is above it at a size; else give 0.

        They are too few where guessing may reach half of the way from chance to 1, as `at_chance` judges guessing.
        """
        chance = self.data.chance
        if chance is None or not self.at_chance(name):
            return 0
        for size in self.sizes_of(name):
            counts = [run["correct"]["count"] for run in self.runs(name, size)]
            if self._means[name, size] > chance and guessing_limit(chance, sum(counts)) >= (1 + chance) / 2:
                return int(counts[0])
        return 0

    def compared(self, first: str, second: str) -> list[int]:
        """Give the sizes at which two models can be compared: both have a point, and not both are at chance."""
        sizes = self.sizes_of(first, second)
        return [size for size in sizes if not (self.at_chance(first, size) and self.at_chance(second, size))]

    def clear(self, first: str, second: str) -> list[bool]:
        """Tell at which of the sizes of `compared` two models differ by more than their intervals leave open."""
        points = [(self.points[first, size], self.points[second, size]) for size in self.compared(first, second)]
        return [abs(one.value - two.value) > math.hypot(one.half, two.half) for one, two in points]

    def fit(self, name: str) -> PowerLaw | None:
        """Fit err(N) = a N^-b + c to one model; None below three sizes, where all are at chance, or the error rises."""
        sizes = [] if self.at_chance(name) or rise(self.curve(name)) else self.sizes_of(name)
        law = fit_power_law(sizes, 1 - self.values(name, sizes), 1 - self.replicates(name, sizes)) if sizes else None
        return law.scaled(self._scale) if law else None

    def pair(self) -> tuple[str, str] | None:
        """Give the two that the main question is about: the first CNN and the first of self-attention."""
        firsts = [next((c.name for c in self.models if c.kind == k), "") for k in ("convolution", "attention")]
        if all(firsts):
            return firsts[0], firsts[1]
        return (self.models[0].name, self.models[1].name) if len(self.models) > 1 else None

    def crossover(self, first: str = "", second: str = "") -> Crossover | None:
        """Find the size from which on the second model leads; by default self-attention against the CNN.

        None where there is no pair, and where the two differ clearly at no size, as models at chance.

        Raises:
            ConfigError: If a name is not in the study.
        """
        pair = (first, second) if first and second else self.pair()
        for name in pair or ():
            if name not in [entry.name for entry in self.models]:
                raise ConfigError(f"{name!r} is not in this study: {', '.join(c.name for c in self.models)}")
        if not pair or not any(self.clear(*pair)):
            return None
        sizes = self.compared(*pair)
        values = [self.values(name, sizes) for name in pair]
        draws = (self.replicates(pair[0], sizes), self.replicates(pair[1], sizes))
        found = find_crossover(sizes, values[0], values[1], draws=draws)
        if found.kind == "extrapolated" and any(map(self.at_chance, pair)):
            return replace(found, kind="none", size=None)  # what has not begun to fall cannot be followed further
        return found

    def values(self, name: str, sizes: Sequence[int]) -> Array:
        """Give the mean scores of a model at some sizes, brought to a range that ends with 1."""
        return self._fitted(np.array([self._means[name, size] for size in sizes]))

    def replicates(self, name: str, sizes: Sequence[int]) -> Array:
        """Give the replicates of the same (replicate, size)."""
        return self._fitted(np.stack([self._draws[name, size] for size in sizes], 1))

    @cached_property
    def _scale(self) -> float:
        """Give the error that fits take as 1, since they read errors in [0, 1]."""
        errors = [self.data.best - score_of(record) for records in self._finished.values() for record in records]
        return 1.0 if self.data.best == 1 and max(errors, default=0) <= 1 else max(errors, default=1.0) or 1.0

    def _fitted(self, scores: Array) -> Array:
        """Bring scores to a range that ends with 1."""
        return scores if self.data.best == self._scale == 1 else 1 - (self.data.best - scores) / self._scale

    @cached_property
    def _guessing(self) -> set[tuple[str, int]]:
        """Give the points that are no better than guesses."""
        chance = self.data.chance
        if chance is None:
            return set()
        answers = {at: sum(run["correct"]["count"] for run in runs) for at, runs in self._finished.items()}
        return {
            at
            for at, point in self.points.items()
            if point.low <= chance or point.value <= guessing_limit(chance, answers[at]) + 1e-9
        }

    @cached_property
    def _finished(self) -> dict[tuple[str, int], list[Record]]:
        groups: dict[tuple[str, int], list[Record]] = {}
        for record in sorted(self.records, key=lambda record: record["config"]["seed"]):
            if "error" not in record:
                groups.setdefault((record["config"]["model"], record["config"]["size"]), []).append(record)
        return groups

    @cached_property
    def _means(self) -> dict[tuple[str, int], float]:
        return {at: float(np.mean(list(map(score_of, records)))) for at, records in self._finished.items()}

    @cached_property
    def _draws(self) -> dict[tuple[str, int], Array]:
        rng = np.random.default_rng(0)
        if not all("correct" in record for records in self._finished.values() for record in records):
            return {at: bootstrap_seeds(list(map(score_of, rs)), rng) for at, rs in self._finished.items()}
        correct = {at: [unpack(record["correct"]) for record in records] for at, records in self._finished.items()}
        counts = dict.fromkeys(len(bits[0]) for bits in correct.values())  # models may part texts in their own ways
        weights = {count: draw_examples(count, rng) for count in counts}
        return {at: bootstrap(bits, weights[len(bits[0])], rng) for at, bits in correct.items()}
