"""Attention on the edges of a drawn graph."""

from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from zoo.errors import InputError
from zoo.viz import graph_layout, graph_plot
from zoo.viz.attention_maps import COLOURS
from zoo.viz.edge_maps import EdgeMap
from zoo.viz.graph_plot import draw

INDEX = torch.tensor([[0, 1, 1, 2, 2], [1, 0, 2, 1, 2]])
WEIGHTS = torch.tensor([[0.5, 1.0, 0.25, 0.5, 0.75], [0.1, 1.0, 0.0, 0.9, 1.0]])


def made(layer: int = 1, weights: torch.Tensor = WEIGHTS, index: torch.Tensor = INDEX, nodes: int = 3) -> EdgeMap:
    return EdgeMap("encoder", layer, tuple(range(1, len(weights) + 1)), weights, index, nodes)


def panels(figure: Figure) -> list[Any]:
    return [axes for axes in figure.axes if axes.get_title()]


def halves(axes: Any) -> LineCollection:
    lines = [each for each in axes.collections if isinstance(each, LineCollection)]
    return lines[1]


def test_nodes_have_their_names_and_those_behind_them_numbers() -> None:
    (axes, *_) = panels(draw([made()], "", ["C 0", "O 1"]))
    assert [text.get_text() for text in axes.texts] == ["C 0", "O 1", "2"]


def test_each_head_has_a_panel_with_nodes_in_one_place() -> None:
    figure = draw([made(1), made(2)], "a club")
    names = [axes.get_title() for axes in panels(figure)]
    assert names == ["layer 1, head 1", "layer 1, head 2", "layer 2, head 1", "layer 2, head 2"]
    places = [axes.collections[2].get_offsets() for axes in panels(figure)]
    assert all(len(each) == 3 and np.array_equal(each, places[0]) for each in places)
    again = panels(draw([made(1)], ""))[0].collections[2].get_offsets()
    assert np.array_equal(again, places[0])
    assert figure.get_suptitle() == "a club"


def test_the_half_next_to_a_node_shows_what_it_reads() -> None:
    axes = panels(draw([made()], ""))[0]
    places, lines = axes.collections[2].get_offsets(), halves(axes)
    shown = {}
    for (begin, end), weight, width in zip(
        lines.get_segments(), np.asarray(lines.get_array()), np.asarray(lines.get_linewidth()), strict=True
    ):
        reader = int(np.abs(places - end).sum(1).argmin())
        source = int(np.abs(places - (2 * begin - end)).sum(1).argmin())
        shown[source, reader] = float(weight), float(width)
    assert {pair: weight for pair, (weight, _) in shown.items()} == {(0, 1): 0.5, (1, 0): 1, (1, 2): 0.25, (2, 1): 0.5}
    assert shown[1, 0][1] == pytest.approx(graph_plot.WIDTH[1])
    assert shown[1, 2][1] < shown[0, 1][1] == shown[2, 1][1] < shown[1, 0][1]


def test_what_a_node_reads_from_itself_is_a_ring() -> None:
    axes = panels(draw([made()], ""))[0]
    places, rings = axes.collections[2].get_offsets(), axes.collections[3]
    assert np.array_equal(rings.get_offsets(), places[2:])
    assert rings.get_linewidth()[0] > graph_plot.WIDTH[0]


def test_the_larger_a_weight_the_lighter_on_a_line_that_white_does_not_hide() -> None:
    axes = panels(draw([made()], ""))[0]
    casing, lines = (each for each in axes.collections if isinstance(each, LineCollection))
    assert lines.get_cmap().name == COLOURS == "viridis"
    assert (np.asarray(casing.get_linewidth()) > np.asarray(lines.get_linewidth())).all()
    assert casing.get_zorder() < lines.get_zorder()
    rings, behind = axes.collections[3:]
    assert behind.get_zorder() < rings.get_zorder()
    assert behind.get_linewidth()[0] > rings.get_linewidth()[0]


def test_one_scale_serves_all_and_strong_weights_lie_on_top() -> None:
    figure = draw([made(1, WEIGHTS / 2), made(2)], "")
    assert {halves(axes).get_clim() for axes in panels(figure)} == {(0, 1)}
    for axes in panels(figure):
        weights = np.asarray(halves(axes).get_array())
        assert (np.diff(weights) >= 0).all()


def test_equal_edges_are_one_line_of_their_sum() -> None:
    index = torch.tensor([[0, 0], [1, 1]])
    lines = halves(panels(draw([made(1, torch.tensor([[0.25, 0.5]]), index, 2)], ""))[0])
    assert np.asarray(lines.get_array()).tolist() == [0.75]


@pytest.mark.parametrize("nodes", [1, 80])
def test_nodes_without_edges_are_drawn(nodes: int) -> None:
    none = torch.zeros(2, 0, dtype=torch.long)
    figure = draw([made(1, torch.zeros(1, 0), none, nodes)], "")
    (axes,) = panels(figure)
    assert len(axes.collections[2].get_offsets()) == nodes
    assert len(axes.texts) == (nodes if nodes <= graph_layout.NUMBERED else 0)
    figure.draw_without_rendering()


def test_too_many_nodes_are_refused() -> None:
    with pytest.raises(InputError, match="a drawing of 2,001 nodes cannot be read"):
        draw([made(nodes=2001)], "")
