"""The learning rate of each contestant: chosen on validation, from one grid, with one budget, on a seed no study has.

A pilot run is a run of the study's engine that is never tested: the choice cannot know test examples. Rates for the
default source are kept in `rates.json` of this folder, which `keep_rates` makes.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from zoo.bench.grid.engine import Record
from zoo.bench.learning_curve.run import Run
from zoo.training.criterion import Criterion

RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
"""The grid, the same for every contestant and optimizer."""
SEED = 1000
"""Of pilot runs; those of studies are below."""
KEPT = Path(__file__).with_name("rates.json")
_FREE = ("size", "seed", "steps", "learning_rate", "precision", "device", "ties", "pilot")
"""What may be another in a study that takes a kept rate; model, data and all else of the recipe are the same."""


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Tell how the learning rate of a contestant was chosen, and what that cost.

    Args:
        size: training examples of each pilot run.
        steps: optimizer steps of each.
        scores: learning rate and best validation score of each, or None of one that failed, by rate.
        learning_rate: the chosen one.
        seconds: of all, training and validation.
        kept: whether it was chosen for the package, not in this folder.
    """

    size: int
    steps: int
    seed: int
    scores: Sequence[tuple[float, float | None]]
    learning_rate: float
    seconds: float
    kept: bool = False

    @property
    def at_edge(self) -> bool:
        """Whether the chosen rate is the lowest or the highest: a better one may lie beyond."""
        return self.learning_rate in (self.scores[0][0], self.scores[-1][0])


def pilot_budget(steps: Mapping[int, int], known: Iterable[Tuning] = ()) -> tuple[int, int]:
    """Choose the training examples and the steps of pilot runs: those of rates that are known, so that all cost alike.

    Else the lower of a study's middle sizes, since a sweep should cost less than its study.

    Args:
        steps: number of training examples to steps, ascending.
        known: tunings of other models of the study.
    """
    for tuning in known:
        return tuning.size, tuning.steps
    return list(steps.items())[(len(steps) - 1) // 2]


def pilot_runs(runs: Iterable[Run], size: int, steps: int) -> list[Run]:
    """List the pilot runs of some models: every rate of the grid, once."""
    models = {run.model: run for run in runs}.values()
    first = [replace(run, size=size, steps=steps, seed=SEED, pilot=True) for run in models]
    return [replace(run, learning_rate=rate) for run in first for rate in RATES]


def chosen(records: Iterable[Record]) -> dict[str, Tuning]:
    """Give each model's tuning, of finished pilot runs; a model is left out if all of its runs failed."""
    records = list(records)
    best = best_rates(records)
    found = {}
    for model, rate in best.items():
        own = sorted(_of(model, records), key=lambda record: record["config"]["learning_rate"])
        run = Run(**own[0]["config"])
        scores = tuple((record["config"]["learning_rate"], record.get("validation")) for record in own)
        seconds = round(sum(record.get("seconds", 0.0) for record in own), 1)
        found[model] = Tuning(
            size=run.size, steps=run.steps, seed=run.seed, scores=scores, learning_rate=rate, seconds=seconds
        )
    return found


def best_rates(records: Iterable[Record]) -> dict[str, float]:
    """Give the learning rate of each model that is best on validation, the later of equal ones."""
    best: dict[str, tuple[Mapping[str, float], float]] = {}
    for record in records:
        if "error" not in record:
            run, scores = Run(**record["config"]), record.get("validation_scores") or {"score": record["validation"]}
            before = best.get(run.model)
            if Criterion(smooth=tuple(scores)).compare(scores, before[0] if before else None) >= 0:
                best[run.model] = scores, run.learning_rate
    return {model: rate for model, (_, rate) in best.items()}


def kept(run: Run) -> Tuning | None:
    """Give the tuning that the package keeps for a model on these data, trained so; None where it keeps none."""
    wanted = _recipe(run.to_dict())
    for entry in _entries():
        if entry["config"] == wanted:
            scores = tuple((rate, score) for rate, score in entry["scores"])
            about = {name: entry[name] for name in ("size", "steps", "seed", "learning_rate", "seconds")}
            return Tuning(**about, scores=scores, kept=True)
    return None


def described(tuning: Mapping[str, Tuning]) -> str:
    """Say in a sentence what was chosen, where, and at what cost."""
    first = next(iter(tuning.values()))
    runs, seconds = (sum(values) for values in zip(*((len(t.scores), t.seconds) for t in tuning.values()), strict=True))
    rates = ", ".join(f"{model} {each.learning_rate:g}" for model, each in tuning.items())
    where = "kept in the package, chosen" if first.kept else "chosen"
    return (
        f"Learning rates, {where} on validation at {first.size:,} examples, {first.steps:,} steps and seed "
        f"{first.seed}: {rates}. The pilot's cost: {runs} runs, {seconds:,.0f} s of training."
    )


def entries(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Give what `rates.json` keeps of pilot runs: for each model its recipe, every score, the choice and the cost."""
    records = list(records)
    found = []
    for model, tuning in chosen(records).items():
        record = next(record for record in _of(model, records) if "error" not in record)
        about = {name: value for name, value in asdict(tuning).items() if name != "kept"}
        machine = {name: record[name] for name in ("device", "precision", "threads")}
        found.append({"config": _recipe(record["config"]), **about, **machine})
    return found


def _recipe(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in _FREE}


def _of(model: str, records: Iterable[Record]) -> list[Record]:
    return [record for record in records if record["config"]["model"] == model]


@lru_cache(maxsize=1)
def _entries() -> list[dict[str, Any]]:
    return json.loads(KEPT.read_text(encoding="utf-8"))["rates"] if KEPT.exists() else []
