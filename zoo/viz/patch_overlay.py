"""Attention laid over a picture: what the class token reads, or all patches on average; a panel for each head.

Axes: h and w pixels, p patches.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, UInt8
from matplotlib.cm import ScalarMappable
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from torch import Tensor

from zoo.errors import InputError
from zoo.viz.attention_maps import Map

PANEL = 2.2
"""Inches, of a picture."""
COLOURS = "viridis"
FAINT, STRONG = 0.35, 0.8
"""How much of the picture the smallest weight hides, and the largest."""


def draw(maps: Sequence[Map], image: UInt8[Tensor, "h w 3"], grid: tuple[int, int], title: str) -> Figure:
    """Draw the picture once for each head, its patches coloured by their weights, on one scale that grows by the root.

    Args:
        maps: of an encoder that reads the picture's patches, row by row, behind tokens in front.
        image: pixels.
        grid: rows and columns of patches.
        title: of the figure.

    Raises:
        InputError: If there are fewer vectors than patches.
    """
    read = [[read_of_patches(weights, grid) for weights in each.weights] for each in maps]
    rows, columns = len(maps), max(len(each.heads) for each in maps)
    high = PANEL * rows * image.shape[0] / image.shape[1]
    figure = Figure(figsize=(PANEL * columns + 1, high + 0.8), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    scale = PowerNorm(0.5, 0, max(float(found.max()) for row in read for found in row) or 1)
    for row, each, of_heads in zip(panels, maps, read, strict=True):
        for axes in row:
            axes.set_axis_off()
        for axes, head, found in zip(row, each.heads, of_heads, strict=False):
            axes.imshow(laid_over(image.numpy(), found, scale), interpolation="nearest")
            axes.set_title(f"layer {each.layer}, head {head}", fontsize=9)
    shown = ScalarMappable(scale, COLOURS)
    figure.colorbar(shown, ax=panels.ravel().tolist(), label="weight", fraction=0.05, shrink=min(1.0, 2 / rows))
    figure.suptitle(title, fontsize=10, parse_math=False, wrap=True)
    return figure


def read_of_patches(weights: Float[Tensor, "q k"], grid: tuple[int, int]) -> Float[np.ndarray, "rows columns"]:
    """Give the weight of each patch for the first token where one stands in front, else the mean over queries.

    Raises:
        InputError: If there are fewer vectors than patches.
    """
    patches = grid[0] * grid[1]
    prefix = weights.shape[1] - patches
    if prefix < 0:
        raise InputError(f"{weights.shape[1]} vectors for {grid[0]}x{grid[1]} patches: they cannot be laid over them")
    read = weights[0] if prefix else weights.mean(0)
    return read[prefix:].reshape(grid).numpy()


def laid_over(
    image: UInt8[np.ndarray, "h w 3"], found: Float[np.ndarray, "rows columns"], scale: PowerNorm
) -> Float[np.ndarray, "h w 3"]:
    """Mix a picture with the colours of its patches; strong weights hide more of it."""
    y, x = (np.arange(size) * patches // size for size, patches in zip(image.shape, found.shape, strict=False))
    share = np.asarray(scale(found))[y][:, x, None]
    colours = ScalarMappable(scale, COLOURS).to_rgba(found)[y][:, x, :3]
    hidden = FAINT + (STRONG - FAINT) * share
    return hidden * colours + (1 - hidden) * image / 255
