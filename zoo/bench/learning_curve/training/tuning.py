"""The learning rate of each contestant: chosen on validation, from one grid, with one budget, on seeds no study has.

A pilot run is a run of the study's engine that is never tested: the choice cannot know test examples. Rates for the
default source are kept in `rates.json` of this folder, which `keep_rates` makes.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from math import log
from pathlib import Path
from statistics import fmean
from typing import Any

from zoo.bench.grid.engine import Record
from zoo.bench.learning_curve.contestants.contestant import Contestant
from zoo.bench.learning_curve.contestants.recipes import recipe_for
from zoo.bench.learning_curve.training.run import Run
from zoo.training.criterion import Criterion, Scores

SEED = 1000
"""The first of pilot runs; those of studies are below."""
MOST_SEEDS = 3
"""Of a pilot, which has as many as its study otherwise: one training tells neighbouring rates too badly apart."""
FURTHEST = 4
"""How many times the steps of a kept rate's pilot a study's own may have, or they its; beyond, it is chosen anew."""
KEPT = Path(__file__).with_name("rates.json")
_FREE = ("size", "seed", "steps", "learning_rate", "precision", "device", "ties", "pilot")
"""What may be another in a study that takes a kept rate; model, data and all else of the recipe are the same."""


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Tell how the learning rate of a contestant was chosen, and what that cost.

    Args:
        size: training examples of each pilot run.
        steps: optimizer steps of each.
        seeds: of the runs of each rate.
        scores: each rate and the mean of its runs' best validation scores, or None where one of them failed.
        learning_rate: the chosen one.
        seconds: of all, training and validation.
        kept: whether it was chosen for the package, not in this folder.
    """

    size: int
    steps: int
    seeds: Sequence[int]
    scores: Sequence[tuple[float, float | None]]
    learning_rate: float
    seconds: float
    kept: bool = False

    @property
    def runs(self) -> int:
        """Trainings that the choice took."""
        return len(self.scores) * len(self.seeds)

    @property
    def at_edge(self) -> bool:
        """Whether the chosen rate is the lowest or the highest: a better one may lie beyond."""
        return self.learning_rate in (self.scores[0][0], self.scores[-1][0])


@dataclass(frozen=True)
class Budget:
    """Hold what the pilot of each model of a study has: training examples, optimizer steps and seeds of each rate."""

    size: int
    steps: int
    seeds: Sequence[int]


def pilot_budget(steps: Mapping[int, int], seeds: int, known: Iterable[Tuning] = ()) -> Budget:
    """Choose the budget of pilot runs: that of rates that are known, so that all cost alike.

    Else the lower of a study's middle sizes, since a sweep should cost less than its study, but not the smallest: the
    best rate there is too high for more examples.

    Args:
        steps: number of training examples to steps, ascending.
        seeds: of the study.
        known: tunings of other models of the study.
    """
    for tuning in known:
        return Budget(tuning.size, tuning.steps, tuning.seeds)
    size, most = list(steps.items())[max((len(steps) - 1) // 2, min(len(steps) - 1, 1))]
    return Budget(size, most, tuple(range(SEED, SEED + min(seeds, MOST_SEEDS))))


def pilot_runs(runs: Iterable[Run], budget: Budget) -> list[Run]:
    """List the pilot runs of some models: every rate of a model's grid with every seed."""
    models = {run.model: run for run in runs}.values()
    first = [replace(run, size=budget.size, steps=budget.steps, pilot=True) for run in models]
    trials = [(run, rate) for run in first for rate in _grid(run)]
    return [replace(run, learning_rate=rate, seed=seed) for run, rate in trials for seed in budget.seeds]


def _grid(run: Run) -> Sequence[float]:
    contestant = Contestant.of(run.model)
    return recipe_for(contestant.spec, run.optimizer, contestant.start).rates


def chosen(records: Iterable[Record]) -> dict[str, Tuning]:
    """Give each model's tuning, of finished pilot runs; a model is left out if every rate failed with some seed."""
    found = {}
    for model, own in _by("model", records).items():
        means = {rate: _mean(same) for rate, same in sorted(_by("learning_rate", own).items())}
        if best := _best(means):
            run = Run(**own[0]["config"])
            found[model] = Tuning(
                size=run.size,
                steps=run.steps,
                seeds=tuple(sorted(_by("seed", own))),
                scores=tuple((rate, _metric(mean)) for rate, mean in means.items()),
                learning_rate=best,
                seconds=round(sum(record.get("seconds", 0.0) for record in own), 1),
            )
    return found


def kept(run: Run, steps: int) -> Tuning | None:
    """Give the tuning that the package keeps for a model on these data, trained so; None where it keeps none.

    Args:
        run: any of the model in the study.
        steps: of the pilot that the study would have. The best rate depends on them: of several tunings that of the
            nearest number is given, and none where all are too far.
    """
    wanted = _recipe(run.to_dict())
    near = {abs(log(entry["steps"] / steps)): entry for entry in _entries() if entry["config"] == wanted}
    if not near or min(near) > log(FURTHEST):
        return None
    entry = near[min(near)]
    scores = tuple((rate, score) for rate, score in entry["scores"])
    about = {name: entry[name] for name in ("size", "steps", "learning_rate", "seconds")}
    return Tuning(**about, seeds=tuple(entry["seeds"]), scores=scores, kept=True)


def described(tuning: Mapping[str, Tuning]) -> str:
    """Say in a sentence what was chosen, where, and at what cost."""
    first = next(iter(tuning.values()))
    runs, seconds = sum(each.runs for each in tuning.values()), sum(each.seconds for each in tuning.values())
    rates = ", ".join(f"{model} {each.learning_rate:g}" for model, each in tuning.items())
    where = "kept in the package, chosen" if first.kept else "chosen"
    return (
        f"Learning rates, {where} on validation at {first.size:,} examples, {first.steps:,} steps and seeds "
        f"{', '.join(map(str, first.seeds))}: {rates}. The pilot's cost: {runs} runs, {seconds:,.0f} s of training."
    )


def entries(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Give what `rates.json` keeps of pilot runs: for each model its recipe, every score, the choice and the cost."""
    records = list(records)
    found = []
    for model, tuning in chosen(records).items():
        record = next(record for record in _by("model", records)[model] if "error" not in record)
        about = {name: value for name, value in asdict(tuning).items() if name != "kept"}
        machine = {name: record[name] for name in ("device", "precision", "threads")}
        found.append({"config": _recipe(record["config"]), **about, **machine})
    return found


def _recipe(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in _FREE}


def _by(name: str, records: Iterable[Record]) -> dict[Any, list[Record]]:
    groups: dict[Any, list[Record]] = {}
    for record in records:
        groups.setdefault(record["config"][name], []).append(record)
    return groups


def _mean(records: Sequence[Record]) -> Scores | None:
    """Give the means of the validation scores of some runs; None where one failed."""
    if any("error" in record for record in records):
        return None
    scores = [record.get("validation_scores") or {"score": record["validation"]} for record in records]
    return {name: fmean(each[name] for each in scores) for name in scores[0]}


def _metric(mean: Scores | None) -> float | None:
    return round(next(iter(mean.values())), 6) if mean else None


def _best(means: Mapping[float, Scores | None]) -> float | None:
    """Give the rate with the best mean, the higher of equal ones; None where each failed."""
    best, first = None, None
    for rate, scores in means.items():
        if scores and Criterion(smooth=tuple(scores)).compare(scores, first) >= 0:
            best, first = rate, scores
    return best


@lru_cache(maxsize=1)
def _entries() -> list[dict[str, Any]]:
    return json.loads(KEPT.read_text(encoding="utf-8"))["rates"] if KEPT.exists() else []
