"""What the page's script draws, as JSON values: points with intervals and their runs, fits, crossover, axes.

Everything vertical is an error, the distance from the best score; the script turns it into a score where asked to.
"""

from collections.abc import Sequence
from statistics import mean
from typing import Any

from zoo.bench.decision.bootstrap import Interval
from zoo.bench.decision.class_scores import recalls
from zoo.bench.grid.engine import Record
from zoo.bench.learning_curve.report.json_summary import finite
from zoo.bench.learning_curve.report.table import describe, describe_cost
from zoo.bench.learning_curve.results.compute import AXES, axes_of, crossover_over, operations
from zoo.bench.learning_curve.results.entries import ModelEntry, score_of
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.learning_curve.training.tested import unpack, unpack_classes
from zoo.bench.study.marks import marks

SMALLEST = 1e-3
"""Errors below are drawn there: a logarithmic axis has no zero."""


def chart(study: Study) -> dict[str, Any]:
    """Give the figure as JSON values, without infinities."""
    data, paths = study.data, {name: mark.path for name, mark in marks(study.kinds).items()}
    contestants = [{"path": paths[entry.name], **_contestant(study, entry)} for entry in study.models]
    return finite(
        {
            "measure": data.measure,
            "error": data.error_name,
            "best": data.best,
            "sign": data.shown(1.0),
            "percent": data.metric == "accuracy",
            "smallest": SMALLEST,
            "axes": {"size": "training examples", **axes_of(study)},
            "contestants": contestants,
            "levels": _levels(study),
            "crossovers": _crossovers(study),
            "vertical": _vertical(study),
        }
    )


def _contestant(study: Study, entry: ModelEntry) -> dict[str, Any]:
    law = study.fit(entry.name)
    failed: dict[int, list[Record]] = {}
    for record in study.failures:
        if record["config"]["model"] == entry.name:
            failed.setdefault(record["config"]["size"], []).append(record)
    points = [_point(study, entry, size, failed.get(size, [])) for size in study.sizes]
    return {
        "name": entry.name,
        "fit": law and [law.a.value, law.b.value, law.c.value],
        "points": [point for point in points if point["runs"]],
    }


def _point(study: Study, entry: ModelEntry, size: int, failed: Sequence[Record]) -> dict[str, Any]:
    point, scores = study.points.get((entry.name, size)), study.class_scores.get((entry.name, size))
    runs = [_run(study, entry, record) for record in study.runs(entry.name, size)]
    spent = {name: [run[name] for run in runs] for name in AXES}
    errors = {
        "score": point and _error(point, study.data.best),
        "balanced": scores and scores.balanced and _error(scores.balanced, 1.0),
        "worst": scores and scores.worst and _error(scores.worst, 1.0),
        "log_loss": scores and scores.log_loss and [scores.log_loss.value, scores.log_loss.low, scores.log_loss.high],
    }
    return {
        "size": size,
        **{name: mean(values) if values and all(values) else None for name, values in spent.items()},
        "errors": {name: each for name, each in errors.items() if each},
        "runs": sorted([*runs, *(_run(study, entry, record) for record in failed)], key=lambda run: run["seed"]),
    }


def _error(score: Interval, best: float) -> list[float]:
    return [best - score.value, best - score.high, best - score.low]


def _run(study: Study, entry: ModelEntry, record: Record) -> dict[str, Any]:
    """Give what is told of a run; `operations` are those of all examples that it has seen."""
    run = record["config"]
    steps = run.get("steps", study.steps[run["size"]])
    about = {"seed": run["seed"], "steps": steps, "rate": run.get("learning_rate", entry.learning_rate)}
    if "error" in record:
        return about | {"failed": record["error"]}
    errors = {"score": study.data.best - score_of(record)}
    scores = study.class_scores.get((entry.name, run["size"]))
    if scores and scores.balanced:
        shares = recalls(unpack(record["correct"]), unpack_classes(record["classes"]))
        errors["balanced"] = 1 - mean(shares.values())
        errors["worst"] = 1 - shares[scores.worst_class]
    if "log_loss" in record:
        errors["log_loss"] = record["log_loss"]
    return about | {
        "best": record.get("best_step"),
        "seconds": record.get("seconds"),
        "operations": operations(study, entry, record),
        "errors": errors,
    }


def _vertical(study: Study) -> list[dict[str, Any]]:
    """Give what the vertical axis can show: which error, as it is or as the score that lacks it.

    `sign` turns a score as the script has it into that which users read.
    """
    data, told = study.data, study.class_scores.values()
    found = [{"of": "score", "words": data.error_name, "as": "error", "percent": data.metric == "accuracy"}]
    if data.error_name != data.measure:
        found.append({"of": "score", "words": data.measure, "as": "score", "percent": data.metric == "accuracy"})
    if any(each.balanced for each in told):
        found.append({"of": "balanced", "words": "balanced accuracy", "as": "score", "percent": True})
        found.append({"of": "worst", "words": "accuracy of the worst class", "as": "score", "percent": True})
    if any(each.log_loss for each in told):
        found.append({"of": "log_loss", "words": "log-loss", "as": "error", "percent": False})
    return found


def _levels(study: Study) -> list[dict[str, Any]]:
    """Give the lines across: the reference of the data, and chance where a point is no better."""
    data, levels = study.data, []
    if data.reference:
        levels.append({"error": 1 - data.reference.accuracy, "words": data.reference.meaning})
    if data.chance is not None and any(study.at_chance(*point) for point in study.points):
        levels.append({"error": 1 - data.chance, "words": "chance: always the largest class"})
    return levels


def _crossovers(study: Study) -> dict[str, dict[str, Any]]:
    """Give where the two of the main question cross, by horizontal axis: as it was measured only."""
    found = {}
    crossover = study.crossover()
    if crossover and crossover.size and crossover.kind == "measured":
        found["size"] = _mark(crossover.size, f"crossover {describe(crossover, study.sizes[-1])}")
    for axis in axes_of(study):
        over = crossover_over(study, axis)
        if over and over.size:
            found[axis] = _mark(over.size, f"crossover {describe_cost(over.size, axis)}")
    return found


def _mark(at: Interval, words: str) -> dict[str, Any]:
    return {"at": [at.value, at.low, at.high], "words": words}
