"""The report of `zoo bench approximation`: who comes near to softmax, with how much, and where nobody does."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from zoo.bench.approximation.errors import MECHANISMS, SIZE_OF
from zoo.bench.decision.bootstrap import Interval, bootstrap_seeds, interval
from zoo.bench.grid.engine import Record
from zoo.bench.study.marks import marks
from zoo.bench.study.report import Cell, Report, ReportTable
from zoo.spec import Kind

NEAR = 0.1
"""Error of the weights, as a share of all weight, up to which a mechanism is called near."""
LEAST = 1e-5
"""Error that is drawn in place of a smaller one; rounding leaves no 0."""
HUES: Mapping[str, Kind] = {
    "performer": "attention",
    "performer-independent": "attention",
    "nystrom": "convolution",
    "linformer": "convolution",
    "low-rank": "convolution",
    "reformer": "hybrid",
    "window": "hybrid",
}
"""Blue for features, orange for low rank, green for pairs that are left out."""
Key = tuple[str, float, int]
"""Mechanism, scale, size."""


def report(records: Sequence[Record]) -> Report:
    """Make the report of the inputs there are."""
    weights, output = (collected(records, what) for what in ("weights", "output"))
    tables = [
        _table(
            "weights", "Weight that lies elsewhere than softmax puts it, as a share of all (total variation)", weights
        ),
        _table("output", "Error of the answers, relative to their norm", output),
    ]
    return Report(lines=_found(weights), tables=tables, figures={"approximation": draw(weights)})


def collected(records: Sequence[Record], what: str) -> dict[Key, Interval]:
    """Give the mean error over inputs with its 95 % interval, in the order of the mechanisms."""
    values: dict[Key, list[float]] = {}
    for record in records:
        config = record["config"]
        for size, error in record[what].items():
            values.setdefault((config["mechanism"], config["scale"], int(size)), []).append(error)
    ordered = sorted(values, key=lambda key: (list(MECHANISMS).index(key[0]), *key[1:]))
    return {
        key: interval(fmean(values[key]), bootstrap_seeds(values[key], np.random.default_rng(0))) for key in ordered
    }


def _found(weights: Mapping[Key, Interval]) -> list[str]:
    """Tell for each mechanism from which size on it is near, at each spread of scores."""
    lines = []
    for name in dict.fromkeys(name for name, _, _ in weights):
        enough: dict[float, int] = {}
        for scale in dict.fromkeys(scale for of, scale, _ in weights if of == name):
            of = {size: each.value for (n, s, size), each in weights.items() if (n, s) == (name, scale)}
            if near := [size for size in of if all(of[more] <= NEAR for more in of if more >= size)]:
                enough[scale] = near[0]
        where = ", ".join(f"{size:,} where scores spread by {scale:g}" for scale, size in enough.items())
        told = f"puts {1 - NEAR:.0%} of the weight right from {where}" if enough else "is near nowhere"
        lines.append(f"{name} ({SIZE_OF[name]}) {told}.")
    return lines


def _table(name: str, title: str, errors: Mapping[Key, Interval]) -> ReportTable:
    sizes = sorted({size for _, _, size in errors})
    rows: list[list[Cell]] = []
    for mechanism, scale in dict.fromkeys((mechanism, scale) for mechanism, scale, _ in errors):
        of = [errors.get((mechanism, scale, size)) for size in sizes]
        rows.append([mechanism, scale, *(None if each is None else round(each.value, 3) for each in of)])
    columns = ["mechanism", "spread", *(f"{size:,}" for size in sizes)]
    return ReportTable(name=name, title=title, columns=columns, rows=rows)


def draw(weights: Mapping[Key, Interval]) -> Figure:
    """Draw the error of the weights over the size, a panel for each spread of scores."""
    scales = sorted({scale for _, scale, _ in weights})
    names = dict.fromkeys(name for name, _, _ in weights)
    figure = Figure(figsize=(3.1 * len(scales) + 2.0, 3.8), dpi=110, layout="constrained")
    panels = figure.subplots(1, len(scales), sharey=True, squeeze=False)[0]
    looks = marks({name: HUES[name] for name in names})
    ticks = sorted({size for _, _, size in weights})
    for axes, scale in zip(panels, scales, strict=True):
        for name, mark in looks.items():
            of = {size: each for (n, s, size), each in weights.items() if (n, s) == (name, scale)}
            means = [max(each.value, LEAST) for each in of.values()]
            reach = [[mean - max(each.low, LEAST) for mean, each in zip(means, of.values(), strict=True)]]
            reach += [[max(each.high - mean, 0) for mean, each in zip(means, of.values(), strict=True)]]
            style: dict[str, Any] = {"color": mark.light, "marker": mark.marker, "label": name, "lw": 1.2, "ms": 5}
            axes.errorbar(list(of), means, reach, elinewidth=0.8, **style)
        axes.axhline(NEAR, color="#555555", ls=":", lw=1)
        axes.set_title(f"scores spread by {scale:g}", loc="left", fontsize=10, fontweight="bold")
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks], rotation=45, fontsize=8)
        axes.set_yscale("log")
        axes.set_ylim(1e-3, 10)
        axes.set_xlabel("features, landmarks, rank or keys", fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    panels[0].set_ylabel("weight put elsewhere, share of all")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8)
    return figure
