"""What the page's script draws, as JSON values: points with intervals and their runs, fits, crossover, axes.

Everything vertical is an error, the distance from the best score; the script turns it into a score where asked to.
"""

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from zoo.bench.grid.engine import Record
from zoo.bench.learning_curve.report.json_summary import finite
from zoo.bench.learning_curve.report.marks import marks
from zoo.bench.learning_curve.report.table import describe
from zoo.bench.learning_curve.results import ModelEntry, Study, score_of

SMALLEST = 1e-3
"""Errors below are drawn there: a logarithmic axis has no zero."""
FORWARD_AND_BACKWARD = 3
"""A training step computes so many times the multiply-adds of a forward pass (arXiv:2001.08361 sec. 2.1)."""
_AXES: Mapping[str, str] = {
    "size": "training examples",
    "seconds": "seconds of training",
    "operations": "multiply-adds of training",
}


def chart(study: Study) -> dict[str, Any]:
    """Give the figure as JSON values, without infinities."""
    data, paths = study.data, {name: mark.path for name, mark in marks(study).items()}
    contestants = [{"path": paths[entry.name], **_contestant(study, entry)} for entry in study.models]
    return finite(
        {
            "measure": data.measure,
            "error": data.error_name,
            "best": data.best,
            "sign": data.shown(1.0),
            "percent": data.metric == "accuracy",
            "smallest": SMALLEST,
            "axes": _axes([point for each in contestants for point in each["points"]]),
            "contestants": contestants,
            "levels": _levels(study),
            "crossover": _crossover(study),
        }
    )


def _axes(points: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Give the horizontal axes on which every point has a place."""
    placed = [point for point in points if point["error"]]
    return {name: title for name, title in _AXES.items() if placed and all(point[name] for point in placed)}


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
    best, point = study.data.best, study.points.get((entry.name, size))
    runs = [_run(study, entry, record) for record in study.runs(entry.name, size)]
    spent = {name: [run[name] for run in runs] for name in ("seconds", "operations")}
    return {
        "size": size,
        **{name: mean(values) if values and all(values) else None for name, values in spent.items()},
        "error": point and [best - point.value, best - point.high, best - point.low],
        "runs": sorted([*runs, *(_run(study, entry, record) for record in failed)], key=lambda run: run["seed"]),
    }


def _run(study: Study, entry: ModelEntry, record: Record) -> dict[str, Any]:
    """Give what is told of a run; `operations` are those of all examples that it has seen."""
    run = record["config"]
    steps = run.get("steps", study.steps[run["size"]])
    about = {"seed": run["seed"], "steps": steps, "rate": run.get("learning_rate", entry.learning_rate)}
    if "error" in record:
        return about | {"failed": record["error"]}
    seen = steps * min(run.get("batch_size", entry.recipe.batch_size), run["size"])
    return about | {
        "best": record.get("best_step"),
        "seconds": record.get("seconds"),
        "operations": record.get(
            "training_multiply_adds", FORWARD_AND_BACKWARD * record.get("multiply_adds", 0) * seen
        ),
        "error": study.data.best - score_of(record),
    }


def _levels(study: Study) -> list[dict[str, Any]]:
    """Give the lines across: the reference of the data, and chance where a point is no better."""
    data, levels = study.data, []
    if data.reference:
        levels.append({"error": 1 - data.reference.accuracy, "words": data.reference.meaning})
    if data.chance is not None and any(study.at_chance(*point) for point in study.points):
        levels.append({"error": 1 - data.chance, "words": "chance: always the largest class"})
    return levels


def _crossover(study: Study) -> dict[str, Any] | None:
    found = study.crossover()
    if found is None or found.size is None or found.kind != "measured":
        return None
    size = found.size
    return {"size": [size.value, size.low, size.high], "words": f"crossover {describe(found, study.sizes[-1])}"}
