"""The figure of a data-size study: error over training-set size, both on logarithmic axes."""

import math
import textwrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from zoo.bench.learning_curve.report.chart import SMALLEST
from zoo.bench.learning_curve.report.table import conclusion, describe, kind_text
from zoo.bench.learning_curve.results.entries import ModelEntry, score_of
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.study.marks import marks
from zoo.names import counted

_QUIET = "#555555"
_WHITE = {"color": "white", "alpha": 0.8, "pad": 1}
"""Box of a text that curves may cross."""
_TICKS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def draw(study: Study) -> Figure:
    """Draw points with intervals, fits, the reference line and the crossover."""
    figure = Figure(figsize=(8, 5.6), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    draw_on(axes, study)
    _words(figure, study)
    return figure


def draw_on(axes: Axes, study: Study) -> None:
    """Draw the same on axes of another figure, without a title."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    for entry in study.models:
        if study.sizes_of(entry.name):
            _curve(axes, study, entry)
    _chance(axes, study)
    _limits(axes, study)
    _reference(axes, study)
    _crossover(axes, study)
    _labels(axes, study)


def title(study: Study, width: int = 80) -> str:
    """Give what was found in a sentence, in lines of so many letters, or what is drawn where nothing was."""
    found = conclusion(study)
    text = found[0] if found else f"Test {study.data.error_name} by training-set size: {study.data.name}"
    return _wrapped(text, width)


def _curve(axes: Axes, study: Study, entry: ModelEntry) -> None:
    name, mark = entry.name, marks(study.kinds)[entry.name]
    colour = mark.light
    sizes = study.sizes_of(name)
    points = [study.points[name, size] for size in sizes]
    errors = [_error(study, point.value) for point in points]
    bounds = [_error(study, p.high) for p in points], [_error(study, p.low) for p in points]
    axes.fill_between(sizes, *bounds, color=colour, alpha=0.18, lw=0)
    label = f"{name} ({kind_text(entry)}, {entry.parameters / 1e3:,.0f} k parameters)"
    axes.plot(sizes, errors, marker=mark.marker, ms=6, lw=2, color=colour, label=label, zorder=3)
    for size in sizes:
        seeds = [_error(study, score_of(run)) for run in study.runs(name, size)]
        axes.scatter([size] * len(seeds), seeds, s=9, color=colour, alpha=0.55, lw=0, zorder=2)
    if law := study.fit(name):
        line = np.geomspace(sizes[0], sizes[-1] * 1.6, 100)
        axes.plot(line, law(line), ls=(0, (4, 3)), lw=1, color=colour, alpha=0.8, zorder=1)


def _error(study: Study, score: float) -> float:
    return max(study.data.best - score, SMALLEST)


def _limits(axes: Axes, study: Study) -> None:
    sizes = study.sizes
    axes.set_xlim(sizes[0] / 1.25, sizes[-1] * 1.6)
    axes.xaxis.set_major_locator(FixedLocator([float(size) for size in sizes]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    errors = [_error(study, bound) for p in study.points.values() for bound in (p.low, p.high)] or [0.1, 1.0]
    if study.data.reference:
        errors.append(1 - study.data.reference.accuracy)
    accuracy = study.data.metric == "accuracy"
    low, high = max(min(errors) / 1.25, 1e-3), min(max(*errors, 0.02) * 1.15, 1.0 if accuracy else math.inf)
    low = low * (low / high) ** (0.07 * len(axes.get_legend_handles_labels()[0]))  # room for the legend
    axes.set_ylim(low, high)
    if accuracy:
        axes.yaxis.set_major_locator(FixedLocator([tick for tick in _TICKS if low <= tick <= high]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.3g} %"))
    else:
        ticks = [digit * 10.0**power for power in range(-3, 7) for digit in (1, 2, 3, 5, 7)]
        axes.yaxis.set_major_locator(FixedLocator([tick for tick in ticks if low <= tick <= high]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())


def _reference(axes: Axes, study: Study) -> None:
    if reference := study.data.reference:
        error = 1 - reference.accuracy
        axes.axhline(error, color=_QUIET, lw=1, ls=":", zorder=1)
        text = f"{reference.meaning} ({100 * error:.1f} %)"
        axes.annotate(text, (axes.get_xlim()[0], error), (6, -4), textcoords="offset points", va="top", fontsize=9,
                      color=_QUIET, bbox=_WHITE, zorder=2)  # fmt: skip


def _chance(axes: Axes, study: Study) -> None:
    """Draw chance where a point is no better; the legend names it, since curves begin there."""
    if study.data.chance is not None and any(study.at_chance(*point) for point in study.points):
        error = 1 - study.data.chance
        label = f"chance: always the largest class ({100 * error:.1f} %)"
        axes.axhline(error, color=_QUIET, lw=1, ls=(0, (1, 2)), zorder=1, label=label)


def _crossover(axes: Axes, study: Study) -> None:
    crossover = study.crossover()
    if crossover is None or crossover.size is None or crossover.kind != "measured":
        return
    left, right = axes.get_xlim()
    high = crossover.size.high if math.isfinite(crossover.size.high) else right
    axes.axvspan(max(crossover.size.low, left), min(high, right), color=_QUIET, alpha=0.1, lw=0, zorder=0)
    axes.axvline(crossover.size.value, color=_QUIET, lw=1, zorder=1)
    text = f"crossover\n{describe(crossover, study.sizes[-1])}"
    edge = axes.get_xaxis_transform()
    axes.annotate(text, (crossover.size.value, 1), (-8, -6), xycoords=edge, textcoords="offset points", ha="right",
                  va="top", fontsize=9, color=_QUIET, bbox=_WHITE, zorder=2)  # fmt: skip


def _labels(axes: Axes, study: Study) -> None:
    axes.set_xlabel("training examples")
    axes.set_ylabel(f"test {study.data.error_name}")
    axes.grid(color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if study.points:
        axes.legend(loc="lower left", frameon=False, fontsize=9)  # error falls to the right: that corner is free


def _words(figure: Figure, study: Study) -> None:
    figure.suptitle(title(study), x=0.01, ha="left", fontsize=11.5, fontweight="bold")
    examples = " and test examples" if study.data.metric == "accuracy" else ""
    note = f"{study.data.description.replace('`', '')} Bands: 95 % over {counted(study.seeds, 'seed')}{examples}; "
    fits = "; dashed: power-law fits" if any(study.fit(entry.name) for entry in study.models) else ""
    note += f"small dots: single runs{fits}."
    figure.supxlabel(_wrapped(note, 125), x=0.01, ha="left", fontsize=8, color=_QUIET)


def _wrapped(text: str, width: int) -> str:
    return textwrap.fill(text, width, break_on_hyphens=False)  # names of models stay whole
