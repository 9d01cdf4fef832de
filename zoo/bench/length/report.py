"""The report of `zoo bench length`: how far each family remembers, what it costs, and the complexity table measured."""

from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile
from operator import itemgetter
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from zoo.bench.grid.engine import Record
from zoo.bench.length.costs import LAYER_DIMS, LAYER_LENGTHS, exponent
from zoo.bench.length.families import FAMILIES
from zoo.bench.length.recall import CHANCE
from zoo.bench.study.marks import marks
from zoo.bench.study.report import Cell, Report, ReportTable


def report(records: Sequence[Record]) -> Report:
    """Make the report of the runs there are."""
    scores = accuracies([record for record in records if record["config"]["part"] == "recall"])
    models = [record for record in records if record["config"]["part"] == "model"]
    layers = [record for record in records if record["config"]["part"] == "layer"]
    tables = [each for each in (_recalled(scores), _costs(models), _complexity(layers), _forms(layers)) if each.rows]
    return Report(lines=_found(scores), tables=tables, figures={"length": draw(scores, models)})


Scores = Mapping[str, Mapping[int, Sequence[Record]]]
"""Family and distance to the runs of the learning rate that validation chose, one for each seed."""


def accuracies(records: Sequence[Record]) -> Scores:
    """Choose the learning rate of each family at each distance, by the mean validation accuracy over seeds.

    A rate of which a seed failed or is missing is not chosen, where another has more.
    """
    groups: dict[str, dict[int, dict[float, list[Record]]]] = {}
    for record in records:
        config = record["config"]
        rates = groups.setdefault(config["family"], {}).setdefault(config["distance"], {})
        rates.setdefault(config["learning_rate"], []).append(record)
    return {
        family: {distance: max(_most(rates.values()), key=_validation) for distance, rates in sorted(distances.items())}
        for family, distances in groups.items()
    }


def _most(rates: Collection[list[Record]]) -> list[list[Record]]:
    return [runs for runs in rates if len(runs) == max(map(len, rates))]


def _validation(runs: Sequence[Record]) -> float:
    return fmean(run["validation"] for run in runs)


def _mean(runs: Sequence[Record]) -> float:
    return fmean(run["accuracy"] for run in runs)


def _found(scores: Scores) -> list[str]:
    """Tell how far each family remembers: up to where its mean accuracy is nearer to 1 than to chance."""
    lines = []
    for family, distances in scores.items():
        good = ((distance, _mean(runs) >= (1 + CHANCE) / 2) for distance, runs in sorted(distances.items()))
        kept = [distance for distance, _ in takewhile(itemgetter(1), good)]
        farthest = max(kept, default=0)
        lines.append(f"{family}: remembers over {farthest} tokens." if kept else f"{family}: remembers at no distance.")
    return [*lines, f"Chance is {CHANCE:.3f}."] if lines else []


def _recalled(scores: Scores) -> ReportTable:
    rows: list[list[Cell]] = [
        [
            family,
            runs[0]["parameters"],
            distance,
            len(runs),
            runs[0]["config"]["learning_rate"],
            _mean(runs),
            min(run["accuracy"] for run in runs),
            max(run["accuracy"] for run in runs),
            fmean(run["steps_taken"] for run in runs),
        ]
        for family, distances in scores.items()
        for distance, runs in distances.items()
    ]
    columns = ["family", "parameters", "distance", "seeds", "learning rate", "accuracy", "lowest", "highest", "steps"]
    return ReportTable(
        name="recall", title="Test accuracy by the distance that must be remembered", columns=columns, rows=rows
    )


def _costs(records: Sequence[Record]) -> ReportTable:
    rows: list[list[Cell]] = [
        [
            record["config"]["family"],
            record["config"]["length"],
            1000 * record["forward"],
            1000 * record["step"],
            record["bytes"] / 1e6,
        ]
        for record in records
    ]
    columns = ["family", "length", "forward, ms", "training step, ms", "memory of a step, MB"]
    return ReportTable(name="costs", title="A model on one sequence, by its length", columns=columns, rows=rows)


def _complexity(records: Sequence[Record]) -> ReportTable:
    rows: list[list[Cell]] = []
    for name, family in FAMILIES.items():
        own = [record for record in records if record["config"]["family"] == name]
        fits = [_fitted(own, what, axis) for what in ("operations", "seconds") for axis in ("length", "dim")]
        if own:
            rows.append([name, family.operations, *fits, *_decoding(own)])
    columns = [
        "family", "arXiv:1706.03762", "operations of n", "operations of d", "time of n", "time of d",
        f"decoding at {LAYER_LENGTHS[0]:,}, ms", f"at {LAYER_LENGTHS[-1]:,}, ms",
    ]  # fmt: skip
    title = "A layer: exponents of length n and channels d, and one step of decoding"
    return ReportTable(name="complexity", title=title, columns=columns, rows=rows)


def _forms(records: Sequence[Record]) -> ReportTable:
    """Compare a layer over a whole sequence with the same layer token by token; runs from before have no such time."""
    rows: list[list[Cell]] = []
    for record in records:
        if (stepwise := record.get("stepwise_seconds")) is not None:
            name, whole = record["config"]["family"], record["seconds"]
            form, length = FAMILIES[name].form, record["config"]["length"]
            rows.append([name, form, length, 1000 * whole, 1000 * stepwise, stepwise / whole])
    columns = ["family", "a whole sequence by", "length", "whole, ms", "token by token, ms", "ratio"]
    title = f"A layer of {LAYER_DIMS[1]} channels over a whole sequence, and token by token with its state"
    return ReportTable(name="forms", title=title, columns=columns, rows=rows)


def _fitted(records: Sequence[Record], what: str, axis: str) -> float | None:
    """Fit the exponent along an axis, where the other has its fixed value; None with fewer than two sizes."""
    other, fixed = ("dim", LAYER_DIMS[1]) if axis == "length" else ("length", LAYER_LENGTHS[1])
    points = {record["config"][axis]: record[what] for record in records if record["config"][other] == fixed}
    return exponent(list(points), list(points.values())) if len(points) > 1 else None


def _decoding(records: Sequence[Record]) -> list[float | None]:
    steps = {r["config"]["length"]: r.get("decoding_seconds") for r in records if r["config"]["dim"] == LAYER_DIMS[1]}
    found = [steps.get(length) for length in (LAYER_LENGTHS[0], LAYER_LENGTHS[-1])]
    return [None if taken is None else 1000 * taken for taken in found]


def draw(scores: Scores, models: Sequence[Record]) -> Figure:
    """Draw accuracy over distance, and the time and the memory of a training step over length."""
    figure = Figure(figsize=(13, 4.4), dpi=110, layout="constrained")
    recall, time, memory = figure.subplots(1, 3)
    for family, mark in marks({name: family.kind for name, family in FAMILIES.items()}).items():
        style: dict[str, Any] = {"color": mark.light, "marker": mark.marker, "label": family}
        points = {distance: _mean(runs) for distance, runs in scores.get(family, {}).items()}
        recall.plot(list(points), list(points.values()), **style)
        own = sorted((r for r in models if r["config"]["family"] == family), key=lambda r: r["config"]["length"])
        lengths = [record["config"]["length"] for record in own]
        time.plot(lengths, [1000 * record["step"] for record in own], **style)
        memory.plot(lengths, [record["bytes"] / 1e6 for record in own], **style)
    recall.axhline(CHANCE, color="#555555", ls=":", lw=1, label="chance")
    _axes(recall, "Test accuracy", "distance, tokens", sorted({d for each in scores.values() for d in each}))
    recall.set_ylim(0, 1.05)
    lengths = sorted({record["config"]["length"] for record in models})
    for axes, title in ((time, "Training step, ms"), (memory, "Memory of a training step, MB")):
        _axes(axes, title, "length, tokens", lengths)
        axes.set_yscale("log")
    recall.legend(frameon=False, fontsize=8)
    return figure


def _axes(axes: Axes, title: str, label: str, ticks: Sequence[int]) -> None:
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    axes.set_xlabel(label)
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(ticks), [f"{tick:,}" for tick in ticks])
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
