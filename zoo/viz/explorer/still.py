"""Still picture of all maps of a pane, for a browser without JavaScript: a row for each layer, a column for each head.

Axes: h rows of pixels, w columns.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, UInt8

from zoo.viz.explorer.colours import coloured
from zoo.viz.explorer.pane import Shown

SIDE, GAP = 72, 6
"""Pixels of a map, and between two."""
PAPER = 255


def still(maps: Sequence[Shown]) -> UInt8[np.ndarray, "h w 3"]:
    """Draw maps, each on a scale of its own, which grows with the root; methods stand in rows of their own below."""
    rows: dict[tuple[str, int], list[Shown]] = {}
    for each in maps:
        rows.setdefault((each.part if each.layer else "method", each.layer), []).append(each)
    wide = max(map(len, rows.values()))
    paper = np.full((len(rows) * (SIDE + GAP) + GAP, wide * (SIDE + GAP) + GAP, 3), PAPER, np.uint8)
    for row, of_layer in enumerate(rows.values()):
        for column, each in enumerate(of_layer):
            y, x = (GAP + place * (SIDE + GAP) for place in (row, column))
            paper[y : y + SIDE, x : x + SIDE] = coloured(_sampled(np.abs(each.weights)))
    return paper


def _sampled(weights: Float[np.ndarray, "q k"]) -> Float[np.ndarray, "h w"]:
    """Give the nearest weight of each pixel."""
    y, x = (np.arange(SIDE) * size // SIDE for size in weights.shape)
    most = weights.max(initial=0)
    return np.sqrt(weights[y][:, x] / most) if most > 0 else np.zeros((SIDE, SIDE))
