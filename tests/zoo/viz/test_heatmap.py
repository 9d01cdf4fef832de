"""Attention maps as a figure."""

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from zoo.viz.attention_maps import Map, Side
from zoo.viz.explorer.colours import coloured
from zoo.viz.heatmap import NAMED, draw

PLAIN = Side()


def made(part: str = "encoder", layer: int = 1, heads: int = 2, queries: Side = PLAIN, keys: Side = PLAIN) -> Map:
    generator = torch.Generator().manual_seed(layer)
    weights = torch.rand(heads, 4, 3, generator=generator).softmax(-1)
    return Map(part, layer, tuple(range(1, heads + 1)), weights, queries, keys)  # type: ignore[arg-type]


def panels(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.images]


def test_each_head_has_a_panel_of_its_weights_on_one_scale() -> None:
    maps = [made(layer=1), made(layer=2)]
    figure = draw(maps, "a text")
    images = [axes.images[0] for axes in panels(figure)]
    for image, weights in zip(images, torch.cat([each.weights for each in maps]), strict=True):
        np.testing.assert_array_equal(image.get_array(), weights)
    highest = max(float(each.weights.max()) for each in maps)
    assert {image.get_clim() for image in images} == {(0, highest)}
    titles = [axes.get_title() for axes in panels(figure)]
    assert titles == ["layer 1, head 1", "layer 1, head 2", "layer 2, head 1", "layer 2, head 2"]
    assert figure.get_suptitle() == "a text"


def test_layers_of_several_parts_say_which() -> None:
    figure = draw([made("decoder", heads=1), made("cross", heads=1)], "")
    assert [axes.get_title() for axes in panels(figure)] == ["decoder 1, head 1", "cross-attention 1, head 1"]
    assert panels(draw([made("cross", heads=1)], ""))[0].get_title() == "cross-attention 1, head 1"


def test_axes_say_whose_vectors_stand_there() -> None:
    queries, keys = Side(0.04, "s", what="target time"), Side(what="source token")
    axes = draw([made("cross", heads=1, queries=queries, keys=keys)], "").axes[0]
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("query: target time (s)", "key: source token")


def test_vectors_without_names_are_counted_in_their_middle() -> None:
    axes = draw([made(heads=1)], "").axes[0]
    assert list(axes.images[0].get_extent()) == [-0.5, 2.5, 3.5, -0.5]
    inside = [place for place in axes.get_xticks() if -0.5 <= place <= 2.5]
    assert inside == [0, 1, 2]


def test_the_larger_a_weight_the_lighter_as_on_the_page_of_zoo_explore() -> None:
    figure = draw([made(heads=1)], "")
    shades = figure.axes[0].images[0].cmap([0.0, 0.5, 1.0])[:, :3]
    np.testing.assert_allclose(255 * shades, coloured(np.array([[0.0, 0.5, 1.0]]))[0], atol=2.5)


def test_a_layer_with_fewer_heads_leaves_its_places_empty() -> None:
    figure = draw([made(heads=1), made(layer=2, heads=3)], "")
    assert len(panels(figure)) == 4


def test_time_is_counted_and_tokens_are_named() -> None:
    figure = draw([made(heads=1, queries=Side(0.04, "s"), keys=Side(names=("$_$", "␣", "</s>")))], "$_$")
    axes = figure.axes[0]
    assert axes.get_ylabel() == "query (s)"
    assert axes.get_xlabel() == "key"
    assert list(axes.images[0].get_extent()) == [-0.5, 2.5, 4 * 0.04, 0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["$_$", "␣", "</s>"]
    assert axes.get_xticks().tolist() == [0, 1, 2]
    figure.draw_without_rendering()  # a dollar is no formula


def test_names_that_would_overlap_or_do_not_fit_are_left_out() -> None:
    many = Map("encoder", 1, (1,), torch.full((1, 2, NAMED + 1), 0.02), PLAIN, Side(names=("a",) * (NAMED + 1)))
    for each in (many, made(heads=1, keys=Side(names=("a", "b")))):
        labels = draw([each], "").axes[0].get_xticklabels()
        assert {label.get_rotation() for label in labels} == {0}
        assert "a" not in [label.get_text() for label in labels]


def test_queries_that_read_nothing_are_drawn() -> None:
    empty = Map("encoder", 1, (1,), torch.zeros(1, 2, 2), PLAIN, PLAIN)
    assert draw([empty], "").axes[0].images[0].get_clim() == (0, 1)
