"""The still picture for browsers without JavaScript."""

import numpy as np

from zoo.viz.explorer.colours import viridis
from zoo.viz.explorer.pane import Shown
from zoo.viz.explorer.still import GAP, SIDE, still


def shown(part: str, layer: int, head: int, weights: list[list[float]]) -> Shown:
    return Shown(part, layer, head, np.array(weights), "source", "source")


def test_each_map_stands_in_the_row_of_its_layer() -> None:
    eye, nothing = [[1.0, 0.0], [0.0, 1.0]], [[0.0]]
    paper = still([shown("encoder", 1, 1, eye), shown("encoder", 1, 2, nothing), shown("rollout", 0, 0, eye)])
    assert paper.shape == (2 * (SIDE + GAP) + GAP, 2 * (SIDE + GAP) + GAP, 3)
    low, high = viridis()[0], viridis()[255]
    quarter, far = GAP + SIDE // 4, GAP + 3 * SIDE // 4
    assert (paper[quarter, quarter] == high).all()
    assert (paper[quarter, far] == low).all()
    assert (paper[quarter, quarter + SIDE + GAP] == low).all()
    assert (paper[far + SIDE + GAP, far] == high).all()
    assert (paper[far + SIDE + GAP, far + SIDE + GAP] == 255).all()
