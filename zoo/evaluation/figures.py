"""Figures of an evaluation: confusion matrix, reliability diagram, numbers found over numbers wanted.

They are drawn in one ink, which `svg` makes the colour of the page's text, so that they are read on light and on dark.

Axes: k classes, b bins, r answers.
"""

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from numpy.typing import NDArray

from zoo.evaluation.judge import Numbers

INK, ACCENT = "#123456", "#0072b2"
MOST_CLASSES, MOST_NUMBERS, COUNTED = 60, 6, 15
"""Classes of a confusion matrix, figures of numbers, and classes up to which cells show their counts."""
POINTS = 5000


def confusion(counts: NDArray[np.int64], labels: Sequence[str]) -> Figure:
    """Draw a confusion matrix: rows are the right classes, and the colour is the share of a row.

    Args:
        counts: answers by right and found class (k, k).
        labels: names of the classes.
    """
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    side = min(9.0, max(4.4, 2.2 + 0.45 * len(labels)))  # 4.4 as the other figures, for letters of one size
    figure = Figure(figsize=(side, side), layout="constrained")
    axes = figure.subplots()
    axes.imshow(shares, cmap="viridis", vmin=0, vmax=1)
    names = [label if len(label) <= 16 else f"{label[:15]}…" for label in labels]
    axes.set_xticks(range(len(names)), names, rotation=90, parse_math=False)
    axes.set_yticks(range(len(names)), names, parse_math=False)
    axes.set_xlabel("found")
    axes.set_ylabel("wanted")
    for row, column in np.argwhere(counts > 0) if len(labels) <= COUNTED else ():
        colour = "black" if shares[row, column] > 0.6 else "white"
        axes.text(column, row, f"{counts[row, column]:,}", ha="center", va="center", color=colour, fontsize=8)
    return _inked(figure)


def reliability(confidence: Numbers, accuracy: Numbers, counts: NDArray[np.int64]) -> Figure:
    """Draw accuracy over confidence, and how many answers have it; on the diagonal, confidence is accuracy.

    Args:
        confidence: mean of each bin (b).
        accuracy: of each bin.
        counts: answers in each bin.
    """
    figure = Figure(figsize=(4.4, 4.8), layout="constrained")
    axes, below = figure.subplots(2, 1, height_ratios=(3, 1), sharex=True)
    filled = counts > 0
    axes.plot([0, 1], [0, 1], color=INK, linestyle=":", linewidth=1)
    axes.plot(confidence[filled], accuracy[filled], "o-", color=ACCENT)
    axes.set(xlim=(0, 1), ylim=(0, 1.02), ylabel="accuracy")
    width = 1 / len(counts)
    below.bar((np.arange(len(counts)) + 0.5) * width, counts, width * 0.9, color=ACCENT)
    below.set(xlabel="confidence", ylabel="answers")
    return _inked(figure)


def found_over_wanted(wanted: Numbers, found: Numbers) -> Figure:
    """Draw numbers found over numbers wanted; those on the diagonal are right.

    Args:
        wanted: (r).
        found: (r).
    """
    figure = Figure(figsize=(4.4, 4.4), layout="constrained")
    axes = figure.subplots()
    step = -(-len(wanted) // POINTS)
    ends = [float(min(wanted.min(), found.min())), float(max(wanted.max(), found.max()))]
    axes.plot(ends, ends, color=INK, linestyle=":", linewidth=1)
    axes.scatter(wanted[::step], found[::step], s=10, color=ACCENT, alpha=0.6, linewidths=0)
    axes.set(xlabel="wanted", ylabel="found")
    return _inked(figure)


def svg(figure: Figure, title: str) -> str:
    """Give a figure as an element of a page, in the colour of its text.

    Args:
        figure: drawn in `INK`.
        title: that is read where it is not seen.
    """
    written = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": title}):
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    text = written.getvalue().decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    named = text.replace(INK, "currentColor").replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
    return re.sub(r' (?:width|height)="[\d.]+pt"', "", named, count=2)


def _inked(figure: Figure) -> Figure:
    """Draw frames, ticks and words in one ink."""
    for axes in figure.axes:
        parts: list[Any] = [*axes.spines.values()]
        for part in parts:
            part.set_edgecolor(INK)
        axes.tick_params(colors=INK)
        for text in (axes.xaxis.label, axes.yaxis.label, axes.title):
            text.set_color(INK)
    return figure
