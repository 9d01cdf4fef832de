"""Attention laid over a picture, which is shown once for each word, as in arXiv:1502.03044 fig. 2 and 5, or each head.

Axes: c channels, h and w pixels, q queries, k keys, rows and columns of places.
"""

from collections.abc import Sequence
from itertools import count
from typing import Any

from jaxtyping import Float, UInt8
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from torch import Tensor

from zoo.core.models.source import Source
from zoo.errors import InputError
from zoo.viz.attention_maps import COLOURS, Map
from zoo.viz.explorer.media import grid_of, pixels_of

WORD, HEAD = 1.35, 2.2
"""Inches, of the picture of a word, and of a head."""
ACROSS = 8
"""Pictures in a row, at most."""
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


def draw_words(picture: Float[Tensor, "c h w"], maps: Sequence[Map], grid: tuple[int, int], title: str) -> Figure:
    """Draw the picture, and for each word that is written, where the decoder looks meanwhile: the mean of the heads.

    Args:
        picture: as the model reads it.
        maps: cross-attention, a block of panels each, on one scale; rows are named by the tokens that were read.
        grid: rows and columns of the places.
        title: of the figure.
    """
    words = maps[0].queries.names[1:]  # a row is read with a token, and writes the next
    down = -(-(1 + len(words)) // ACROSS)
    across = -(-(1 + len(words)) // down)
    figure = Figure(figsize=(WORD * across + 0.4, (WORD + 0.3) * down * len(maps) + 0.5), layout="constrained")
    panels = figure.subplots(down * len(maps), across, squeeze=False)
    pixels, means = pixels_of(picture.detach(), {}), [each.weights.mean(0)[: len(words)] for each in maps]
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


def draw_heads(pixels: UInt8[Tensor, "h w 3"], maps: Sequence[Map], grid: tuple[int, int], title: str) -> Figure:
    """Draw the picture once for each head, its patches covered by their weights, on one scale.

    Args:
        pixels: of the picture.
        maps: of an encoder that reads the picture's patches, row by row, behind tokens in front.
        grid: rows and columns of patches.
        title: of the figure.

    Raises:
        InputError: If there are fewer vectors than patches.
    """
    read = [[read_of_patches(weights, grid) for weights in each.weights] for each in maps]
    rows, columns = len(maps), max(len(each.heads) for each in maps)
    high = HEAD * rows * pixels.shape[0] / pixels.shape[1]
    figure = Figure(figsize=(HEAD * columns + 1, high + 0.8), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    most = max(float(found.max()) for of_heads in read for found in of_heads) or 1.0
    for row, each, of_heads in zip(panels, maps, read, strict=True):
        for axes in row:
            axes.set_axis_off()
        for axes, head, found in zip(row, each.heads, of_heads, strict=False):
            lay_over(axes, pixels, found, most)
            axes.set_title(f"layer {each.layer}, head {head}", fontsize=9)
    scale = ScalarMappable(Normalize(0, most), COLOURS)
    figure.colorbar(scale, ax=panels.ravel().tolist(), label="weight", fraction=0.05, shrink=min(1.0, 2 / rows))
    figure.suptitle(title, fontsize=10, parse_math=False, wrap=True)
    return figure


def lay_over(
    axes: Axes, pixels: UInt8[Tensor, "h w 3"], weights: Float[Tensor, "rows columns"] | None, most: float
) -> None:
    """Draw a picture, and weights of its places over it; the larger, the less of the picture shows.

    Args:
        axes: of the panel.
        pixels: of the picture.
        weights: of the rows and columns of places; none if None.
        most: the weight of the fullest colour.
    """
    extent = (0.0, float(pixels.shape[1]), float(pixels.shape[0]), 0.0)
    axes.imshow(pixels.numpy(), extent=extent, interpolation="nearest")
    if weights is not None:
        share = (weights / most).clamp(0, 1)
        layer: dict[str, Any] = {
            "cmap": COLOURS,
            "vmin": 0.0,
            "vmax": 1.0,
            "extent": extent,
            "interpolation": "nearest",
        }
        axes.imshow(share.numpy(), alpha=(COVER * share**0.5).numpy(), **layer)
    axes.set_axis_off()


def read_of_patches(weights: Float[Tensor, "q k"], grid: tuple[int, int]) -> Float[Tensor, "rows columns"]:
    """Give the weight of each patch for the first token where one stands in front, else the mean over queries.

    Raises:
        InputError: If there are fewer vectors than patches.
    """
    patches = grid[0] * grid[1]
    prefix = weights.shape[1] - patches
    if prefix < 0:
        raise InputError(f"{weights.shape[1]} vectors for {grid[0]}x{grid[1]} patches: they cannot be laid over them")
    read = weights[0] if prefix else weights.mean(0)
    return read[prefix:].reshape(grid)


def crossing(maps: Sequence[Map], part: str | None) -> list[Map]:
    """Give the maps of cross-attention whose tokens have names, unless another part is asked for."""
    found = [each for each in maps if each.part == "cross" and len(each.queries.names) == each.weights.shape[1] > 1]
    return found if part in (None, "cross") else []


def _name(shown: Map) -> str:
    heads = "" if len(shown.heads) == 1 else f"\nmean of {len(shown.heads)} heads"
    return f"layer {shown.layer}{heads}"
