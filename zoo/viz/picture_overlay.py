"""Attention laid over a picture, which is shown once for each word, as in arXiv:1502.03044 fig. 2 and 5.

Axes: c channels, h and w pixels, r rows and k columns of places.
"""

from collections.abc import Sequence
from itertools import count
from typing import Any

from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from zoo.core.models.source import Source
from zoo.viz.attention_maps import Map
from zoo.viz.explorer.media import grid_of

PANEL = 1.35
"""Inches, of a picture."""
ACROSS = 8
"""Pictures in a row."""
COVER = 0.8
"""Opacity of the largest weight."""


def places_of(model: Any, inputs: Sequence[Any], vectors: int) -> tuple[int, int] | None:
    """Give the rows and columns in which a decoder reads its first input, if that is a picture; else None.

    The stem says so by a method `grid`; behind another model's encoder it is the grid that has so many vectors.

    Args:
        model: with a decoder.
        inputs: as for `forward`.
        vectors: that the decoder reads.
    """
    stem: Any = getattr(model, "stem", None)
    if hasattr(stem, "grid"):
        found: tuple[int, int] = stem.grid(inputs[0])
        return found
    picture = getattr(inputs[0], "ndim", 0) == 4 and inputs[0].is_floating_point()
    if picture and isinstance(stem, Source) and stem.bridge.pool is None:
        height, width = inputs[0].shape[2:]
        return grid_of(height, width, vectors)
    return None


def draw(picture: Float[Tensor, "c h w"], maps: Sequence[Map], grid: tuple[int, int], title: str) -> Figure:
    """Draw the picture, and for each word that is written, where the decoder looks meanwhile: the mean of the heads.

    Args:
        picture: as the model reads it.
        maps: cross-attention, a block of panels each, on one scale; rows are named by the tokens that were read.
        grid: rows and columns of the places.
        title: of the figure.
    """
    words = maps[0].queries.names[1:]  # a row is read with a token, and writes the next
    across = min(1 + len(words), ACROSS)
    down = -(-(1 + len(words)) // across)
    figure = Figure(figsize=(PANEL * across + 0.4, (PANEL + 0.3) * down * len(maps) + 0.5), layout="constrained")
    panels = figure.subplots(down * len(maps), across, squeeze=False)
    pixels, means = shown(picture), [each.weights.mean(0)[: len(words)] for each in maps]
    most = max(float(mean.max()) for mean in means) or 1.0
    for axes in panels.flat:
        axes.set_axis_off()
    for at, each, mean in zip(count(), maps, means, strict=False):
        block = panels[at * down : (at + 1) * down].flat
        lay_over(block[0], pixels, None, most)
        block[0].set_title(_name(each), fontsize=7)
        for axes, word, weights in zip(block[1:], words, mean, strict=False):
            lay_over(axes, pixels, weights[-grid[0] * grid[1] :].reshape(grid), most)
            axes.set_title(word, fontsize=9, parse_math=False)
    figure.suptitle(title, fontsize=9, parse_math=False, wrap=True)
    return figure


def lay_over(axes: Axes, pixels: Float[Tensor, "h w 3"], weights: Float[Tensor, "r k"] | None, most: float) -> None:
    """Draw a picture, and weights of its places over it; the larger, the less of the picture shows.

    Args:
        axes: of the panel.
        pixels: from 0 to 1.
        weights: of the rows and columns of places; none if None.
        most: the weight of the fullest colour.
    """
    extent = (0.0, float(pixels.shape[1]), float(pixels.shape[0]), 0.0)
    axes.imshow(pixels.numpy(), extent=extent, interpolation="nearest")
    if weights is not None:
        share = (weights / most).clamp(0, 1)
        layer: dict[str, Any] = {
            "cmap": "magma",
            "vmin": 0.0,
            "vmax": 1.0,
            "extent": extent,
            "interpolation": "nearest",
        }
        axes.imshow(share.numpy(), alpha=(COVER * share**0.5).numpy(), **layer)
    axes.set_axis_off()


def shown(picture: Float[Tensor, "c h w"]) -> Float[Tensor, "h w 3"]:
    """Bring a picture to 0 … 1 and three channels, whatever its preparation was."""
    found = picture.detach().float().cpu()
    found = (found - found.min()) / (found.max() - found.min()).clamp(min=1e-6)
    found = found[:3] if len(found) >= 3 else found[:1].expand(3, -1, -1)
    return found.permute(1, 2, 0).contiguous()


def crossing(maps: Sequence[Map], part: str | None) -> list[Map]:
    """Give the maps of cross-attention whose tokens have names, unless another part is asked for."""
    found = [each for each in maps if each.part == "cross" and len(each.queries.names) == each.weights.shape[1] > 1]
    return found if part in (None, "cross") else []


def _name(shown: Map) -> str:
    heads = "" if len(shown.heads) == 1 else f"\nmean of {len(shown.heads)} heads"
    return f"layer {shown.layer}{heads}"
