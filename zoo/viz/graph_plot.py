"""Attention on the edges of a graph as a figure: a row for each layer, a column for each head; nodes stay in place.

The half of an edge that is next to a node says how much that node reads from the other; a ring, how much from itself.
Axes: n nodes, e edges, m pairs of nodes that an edge joins.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from zoo.errors import InputError
from zoo.viz.attention_maps import COLOURS
from zoo.viz.edge_maps import EdgeMap
from zoo.viz.graph_layout import NUMBERED, Places, layout

PANEL, CROWDED = 2.6, 3.8
"""Inches, of a drawing of few nodes and of many."""
MANY, MOST = 24, 2000
"""Nodes from which on a panel is larger, and up to which a drawing shows anything."""
LONG = 3
"""Letters of a name from which on nodes are larger: numbers have fewer."""
WIDTH = 0.4, 4.0
"""Points, of the lines of no weight and of the largest."""
CASING = 0.8
"""Points that lines stand out grey under their colours, of which the lightest would not be seen on white."""
GREY = "#888888"
LEGEND = (
    "the half of an edge next to a node: what it reads from the other; a ring: from itself\n"
    "width and colour: the weight, by its root"
)


def draw(maps: Sequence[EdgeMap], title: str, names: Sequence[str] = ()) -> Figure:
    """Draw the weights of the same graph on one scale, which grows with the root so that weak ones show.

    Args:
        maps: of its layers.
        title: of the figure.
        names: of the first nodes; the others are numbered.

    Raises:
        InputError: If there are too many nodes.
    """
    nodes = max(each.nodes for each in maps)
    if nodes > MOST:
        raise InputError(f"a drawing of {nodes:,} nodes cannot be read: give a graph of at most {MOST:,}")
    places = layout(maps[0].index.numpy(), nodes)
    rows, columns = len(maps), max(len(each.heads) for each in maps)
    side = PANEL if nodes <= MANY else CROWDED
    figure = Figure(figsize=(side * columns + 1, side * rows + 0.9), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    of_nodes = [*names, *map(str, range(len(names), nodes))]
    read = [[_by_pair(each.index.numpy(), weights.numpy()) for weights in each.weights] for each in maps]
    scale = PowerNorm(0.5, 0, max((float(shown.max(initial=0)) for row in read for _, shown in row)) or 1)
    for row, each, of_heads in zip(panels, maps, read, strict=True):
        for axes in row:
            axes.set_axis_off()
        for axes, head, (pairs, weights) in zip(row, each.heads, of_heads, strict=False):
            _panel(axes, places, pairs, weights, scale, of_nodes)
            axes.set_title(f"layer {each.layer}, head {head}", fontsize=9)
    shown = ScalarMappable(scale, COLOURS)
    figure.colorbar(shown, ax=panels.ravel().tolist(), label="weight", fraction=0.05, shrink=min(1.0, 2 / rows))
    figure.suptitle(title, fontsize=10, parse_math=False, wrap=True)
    figure.supxlabel(LEGEND, fontsize=8)
    return figure


def _by_pair(
    index: Int[np.ndarray, "2 e"], weights: Float[np.ndarray, " e"]
) -> tuple[Int[np.ndarray, "m 2"], Float[np.ndarray, " m"]]:
    """Sum the weights of equal edges."""
    pairs, place = np.unique(index.T, axis=0, return_inverse=True)
    return pairs, np.bincount(place.ravel(), weights, len(pairs)).astype(weights.dtype)


def _panel(
    axes: Axes,
    places: Places,
    pairs: Int[np.ndarray, "m 2"],
    weights: Float[np.ndarray, " m"],
    scale: PowerNorm,
    names: Sequence[str],
) -> None:
    """Draw what one head reads; strong weights lie on top."""
    order = np.argsort(weights)
    pairs, weights = pairs[order], weights[order]
    loops = pairs[:, 0] == pairs[:, 1]
    source, target = places[pairs[~loops]].transpose(1, 0, 2)
    halves = list(np.stack([(source + target) / 2, target], 1))
    widths = _widths(weights, scale)
    axes.add_collection(LineCollection(halves, colors=GREY, linewidths=widths[~loops] + CASING, zorder=1))
    shown: dict[str, Any] = {"array": weights[~loops], "cmap": COLOURS, "norm": scale, "linewidths": widths[~loops]}
    axes.add_collection(LineCollection(halves, capstyle="butt", zorder=2, **shown))
    few = len(places) <= NUMBERED
    size = (60 if max(map(len, names)) < LONG else 240) if few else 1000 / len(places)
    axes.scatter(places[:, 0], places[:, 1], s=size, c="white", edgecolors=GREY, linewidths=0.6, zorder=3)
    own, colours = places[pairs[loops, 1]], ScalarMappable(scale, COLOURS).to_rgba(weights[loops])
    ring: dict[str, Any] = {"edgecolors": colours, "linewidths": widths[loops], "zorder": 4.5}
    behind: dict[str, Any] = {"edgecolors": GREY, "linewidths": widths[loops] + CASING, "zorder": 4}
    for each in (ring, behind):
        axes.scatter(own[:, 0], own[:, 1], s=2 * size, c="none", **each)
    for name, place in zip(names, places, strict=True) if few else ():
        axes.annotate(name, place, ha="center", va="center", fontsize=5, zorder=5)
    axes.set_aspect("equal")
    axes.margins(0.08)
    axes.autoscale_view()


def _widths(weights: Float[np.ndarray, " m"], scale: PowerNorm) -> Float[np.ndarray, " m"]:
    return WIDTH[0] + (WIDTH[1] - WIDTH[0]) * np.asarray(scale(weights))
