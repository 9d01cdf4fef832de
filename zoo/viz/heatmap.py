"""Attention maps as a figure: a row for each layer, a column for each head, queries and keys on the axes.

Axes: h heads, q queries, k keys.
"""

from collections.abc import Sequence

from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from zoo.viz.attention_maps import COLOURS, Map, Side

PANEL = 2.4
"""Inches, of a map."""
NAMED = 48
"""Names at most that stand along a side; more would overlap."""
LETTERS = 5.0, 9.0
"""Points, of the smallest names and the largest."""
WHOSE = {"encoder": "encoder", "decoder": "decoder", "cross": "cross-attention"}
"""How a title calls the parts."""


def draw(maps: Sequence[Map], title: str) -> Figure:
    """Draw maps on one scale of colours, which grows with the root so that weak weights show."""
    rows, columns = len(maps), max(len(each.heads) for each in maps)
    alone = {each.part for each in maps} == {"encoder"}
    figure = Figure(figsize=(PANEL * columns + 1, PANEL * rows + 0.6), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    scale = PowerNorm(0.5, 0, max(float(each.weights.max()) for each in maps) or 1)
    for row, each in zip(panels, maps, strict=True):
        for axes in row[len(each.heads) :]:
            axes.set_axis_off()
        for axes, head, weights in zip(row, each.heads, each.weights, strict=False):
            image = _panel(axes, weights, scale, each)
            axes.set_title(f"{'layer' if alone else WHOSE[each.part]} {each.layer}, head {head}", fontsize=9)
    figure.colorbar(image, ax=panels.ravel().tolist(), label="weight", fraction=0.05, shrink=min(1.0, 2 / rows))
    figure.suptitle(title, fontsize=10, parse_math=False, wrap=True)
    return figure


def _panel(axes: Axes, weights: Float[Tensor, "q k"], scale: PowerNorm, shown: Map) -> AxesImage:
    queries, keys = weights.shape
    (left, right), (top, bottom) = _span(shown.keys, keys), _span(shown.queries, queries)
    extent = (left, right, bottom, top)
    image = axes.imshow(
        weights.numpy(), cmap=COLOURS, norm=scale, extent=extent, aspect="auto", interpolation="nearest"
    )
    _label(axes.xaxis, shown.keys, keys, "key")
    _label(axes.yaxis, shown.queries, queries, "query")
    axes.tick_params("x", rotation=90 if _is_named(shown.keys, keys) else 0)
    axes.label_outer()
    return image


def _is_named(side: Side, count: int) -> bool:
    return len(side.names) == count <= NAMED


def _span(side: Side, count: int) -> tuple[float, float]:
    """Give the ends of an axis: times from 0, or numbers from 0 in the middle of what they count."""
    return (0.0, count * side.step) if side.unit else (-0.5, count - 0.5)


def _label(axis: Axis, side: Side, count: int, role: str) -> None:
    what = f"{role}: {side.what}" if side.what else role
    axis.set_label_text(f"{what} ({side.unit})" if side.unit else what)
    if not side.unit:
        axis.set_major_locator(MaxNLocator("auto", integer=True))
    if _is_named(side, count):
        size = min(max(LETTERS[0], 60 * PANEL / count), LETTERS[1])
        first, step = (side.step / 2, side.step) if side.unit else (0.0, 1.0)
        axis.set_ticks([first + place * step for place in range(count)])
        axis.set_ticklabels(side.names, fontsize=size, parse_math=False)
        axis.set_tick_params(length=0)
