"""The second figure of a study: error over what a training costs, in seconds and in operations."""

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from zoo.bench.learning_curve.report.chart import SMALLEST
from zoo.bench.learning_curve.report.table import describe_cost
from zoo.bench.learning_curve.results.compute import axes_of, cost_text, crossover_over, is_rising, spent
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.study.marks import marks

_QUIET = "#555555"


def draw_compute(study: Study) -> Figure | None:
    """Draw a panel for each cost that every run tells, with intervals and the crossover; None where there is none."""
    titles = axes_of(study)
    if not titles:
        return None
    figure = Figure(figsize=(5.4 * len(titles), 4.4), dpi=150, layout="constrained")
    for place, (axis, title) in enumerate(titles.items(), 1):
        panel = figure.add_subplot(1, len(titles), place)
        _panel(panel, study, axis)
        panel.set_xlabel(title)
        panel.set_ylabel(f"test {study.data.error_name}" if place == 1 else "")
    figure.axes[0].legend(frameon=False, fontsize=9)
    figure.suptitle(f"The same points by the cost of a training: {study.data.name}", x=0.01, ha="left", fontsize=11.5)
    note = (
        "Mean over seeds. Seconds are those of the training steps, on the machines that ran them; multiply-adds are "
        "3 x those of a forward pass x the examples seen. Points are joined where more examples cost more."
    )
    if any((found := crossover_over(study, axis)) and found.size for axis in titles):
        note += " Grey: where self-attention overtakes the CNN at equal cost, 95 %."
    figure.supxlabel(note, x=0.01, ha="left", fontsize=8, color=_QUIET, wrap=True)
    return figure


def _panel(panel: Axes, study: Study, axis: str) -> None:
    costs = spent(study, axis)
    panel.set_xscale("log")
    panel.set_yscale("log")
    for name, mark in marks(study.kinds).items():
        sizes = study.sizes_of(name)
        at = [costs[name, size] for size in sizes]
        value, low, high = (
            [max(study.data.best - getattr(study.points[name, size], each), SMALLEST) for size in sizes]
            for each in ("value", "high", "low")
        )
        joined = is_rising(at)
        if joined:
            panel.fill_between(at, low, high, color=mark.light, alpha=0.18, lw=0)
        else:
            panel.vlines(at, low, high, color=mark.light, lw=1)
        panel.plot(
            at, value, marker=mark.marker, ms=6, ls="-" if joined else "", lw=2, color=mark.light, label=name, zorder=3
        )
    _widen(panel)
    _crossover(panel, study, axis)
    span = max(costs.values()) / min(costs.values())
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7) if span < 10 else (1, 3) if span < 300 else (1,)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: cost_text(value, axis)))
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 4, 5, 7)))
    percent = study.data.metric == "accuracy"
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.3g} %" if percent else f"{value:g}"))
    for each in (panel.xaxis, panel.yaxis):
        each.set_minor_locator(NullLocator())
    panel.grid(color="#dddddd", lw=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _widen(panel: Axes) -> None:
    """Give room to points at one place, whose limits differ by rounding alone: matplotlib widens only equal ones."""
    for limits, widen in ((panel.get_xlim(), panel.set_xlim), (panel.get_ylim(), panel.set_ylim)):
        if limits[1] < limits[0] * (1 + 1e-6):
            widen(limits[0] / 2, limits[1] * 2)


def _crossover(panel: Axes, study: Study, axis: str) -> None:
    found = crossover_over(study, axis)
    if found is None or found.size is None:
        return
    left, right = panel.get_xlim()
    high = found.size.high if math.isfinite(found.size.high) else right
    panel.axvspan(max(found.size.low, left), min(high, right), color=_QUIET, alpha=0.1, lw=0, zorder=0)
    panel.axvline(found.size.value, color=_QUIET, lw=1, zorder=1)
    panel.set_title(f"crossover {describe_cost(found.size, axis)}", fontsize=9, color=_QUIET)
    panel.set_xlim(left, right)
