"""Figures of `zoo bench attention`: score over speed, over time and over state, and costs over length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, StrMethodFormatter

from zoo.bench.attention.facts import kind_of
from zoo.bench.grid.engine import Record
from zoo.bench.study.marks import Mark, marks

AREA = 900.0
"""Of the circle of the mechanism that needs most memory, in square points; the others in proportion."""
APART = 0.05
"""Share of the height by which names beside a figure are apart at least."""
Style = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Point:
    """What a mechanism reached on a task, and what that took.

    Args:
        task: of the study.
        mechanism: as the user wrote it.
        score: mean test accuracy.
        low: end of its 95 % interval.
        high: other end.
        step: seconds of a training step.
        steps: that were taken, mean over seeds.
        memory: bytes of the tensors of a step, at most.
        state: bytes that a layer keeps for a sequence of the task's length in decoding; None where it cannot decode.
    """

    task: str
    mechanism: str
    score: float
    low: float
    high: float
    step: float
    steps: float
    memory: int
    state: int | None


def draw_speed(points: Sequence[Point]) -> Figure:
    """Draw the mean score over the speed of training, and memory as area, as figure 3 of arXiv:2011.04006 does.

    A mechanism that some task refused has no mean that compares with the others', and is left out.
    """
    figure, axes = _blank(1)
    of: dict[str, list[Point]] = {}
    for point in points:
        of.setdefault(point.mechanism, []).append(point)
    tasks = len({point.task for point in points})
    most = max(point.memory for point in points)
    placed = {}
    for name, mark in _marks(of).items():
        if len(own := of[name]) < tasks:
            continue
        x, y = (sum(each) / len(own) for each in ([1 / p.step for p in own], [p.score for p in own]))
        axes[0].scatter(
            x, y, AREA * max(p.memory for p in own) / most, mark.light, alpha=0.6, edgecolors="white", zorder=3
        )
        placed[name] = x, y
    _labelled(axes[0], "training steps a second", "mean test accuracy", "Score over speed; area: memory of a step")
    _logarithmic(axes[0].xaxis)
    _named(axes[0], placed)
    return figure


def draw_front(points: Sequence[Point]) -> Figure:
    """Draw for each task the score over the seconds of training, and the front of those that no other beats in both."""
    tasks = list(dict.fromkeys(point.task for point in points))
    figure, panels = _blank(len(tasks))
    looks = _marks(dict.fromkeys(point.mechanism for point in points))
    for axes, task in zip(panels, tasks, strict=True):
        own = [point for point in points if point.task == task]
        for point in own:
            _bar(axes, point.step * point.steps, point, looks)
        front = pareto({p.mechanism: (p.step * p.steps, p.score) for p in own})
        axes.plot(*zip(*front, strict=True), color="#555555", lw=1, ls="--", drawstyle="steps-post", zorder=1)
        _labelled(axes, "seconds of training, one thread", "test accuracy", task)
        _logarithmic(axes.xaxis)
    _legend(figure, panels[0])
    return figure


def draw_state(points: Sequence[Point]) -> Figure | None:
    """Draw for each task the score over the bytes that decoding keeps for a sequence; None if nothing can decode."""
    known = [point for point in points if point.state]
    tasks = list(dict.fromkeys(point.task for point in known))
    if not tasks:
        return None
    figure, panels = _blank(len(tasks))
    looks = _marks(dict.fromkeys(point.mechanism for point in points))
    for axes, task in zip(panels, tasks, strict=True):
        for point in known:
            if point.task == task and point.state:
                _bar(axes, point.state / 1e3, point, looks)
        _labelled(axes, "state of a layer, kB", "test accuracy", task)
        _logarithmic(axes.xaxis)
    _legend(figure, panels[0])
    return figure


def draw_lengths(records: Sequence[Record]) -> Figure:
    """Draw time and memory of a training step of untrained models over length."""
    figure, panels = _blank(2)
    for name, mark in _marks(dict.fromkeys(record["config"]["mechanism"] for record in records)).items():
        own = sorted(
            (r for r in records if r["config"]["mechanism"] == name), key=lambda record: record["config"]["length"]
        )
        lengths = [record["config"]["length"] for record in own]
        style: Style = {"color": mark.light, "marker": mark.marker, "label": name, "lw": 1.2, "ms": 5}
        panels[0].plot(lengths, [1000 * record["step"] for record in own], **style)
        panels[1].plot(lengths, [record["bytes"] / 1e6 for record in own], **style)
    ticks = sorted({record["config"]["length"] for record in records})
    for axes, title in zip(panels, ("training step, ms", "memory of a step, MB"), strict=True):
        axes.set_xscale("log", base=2)
        _logarithmic(axes.yaxis)
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        _labelled(axes, "tokens of a sequence", title, "Untrained models of two layers, one sequence")
    _legend(figure, panels[0])
    return figure


def pareto(found: Mapping[str, tuple[float, float]]) -> list[tuple[float, float]]:
    """Give the points, cheapest first, that have a greater score than all that are cheaper."""
    front: list[tuple[float, float]] = []
    for cost, score in sorted(found.values(), key=lambda point: (point[0], -point[1])):
        if not front or score > front[-1][1]:
            front.append((cost, score))
    return front


def _logarithmic(axis: Axis) -> None:
    """Make an axis logarithmic, with numbers as people write them."""
    (axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale)("log")  # type: ignore[attr-defined]
    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axis.set_minor_formatter(LogFormatter(labelOnlyBase=False, minor_thresholds=(2, 0.5)))


def _blank(panels: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(4.4 * panels + 2.4, 4.2), dpi=110, layout="constrained")
    return figure, list(figure.subplots(1, panels, squeeze=False)[0])


def _marks(names: Mapping[str, object]) -> dict[str, Mark]:
    return marks({name: kind_of(name) for name in names})


def _bar(axes: Axes, x: float, point: Point, looks: Mapping[str, Mark]) -> None:
    """Put a point with the interval of its score."""
    mark = looks[point.mechanism]
    reach = [[point.score - point.low], [point.high - point.score]]
    style: Style = {"color": mark.light, "marker": mark.marker, "label": point.mechanism}
    axes.errorbar(x, point.score, reach, lw=1, ms=7, ls="", **style)


def _named(axes: Axes, placed: Mapping[str, tuple[float, float]]) -> None:
    """Write names in a column on the right, in the order of their scores, with a line from each to its circle."""
    low, high = axes.get_ylim()
    gap, at = APART * (high - low), -float("inf")
    heights = {}
    for name, (_, y) in sorted(placed.items(), key=lambda item: item[1][1]):
        at = heights[name] = max(y, at + gap, low)
    above = max(0.0, at - high)
    for name, height in heights.items():
        axes.annotate(
            name,
            placed[name],
            (1.03, (height - above - low) / (high - low)),
            textcoords="axes fraction",
            fontsize=8,
            va="center",
            arrowprops={"arrowstyle": "-", "color": "#999999", "lw": 0.6},
            annotation_clip=False,
        )


def _labelled(axes: Axes, x: str, y: str, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8)
