from typing import Any

import pytest
import torch
from matplotlib.figure import Figure

import zoo
from zoo.errors import InputError
from zoo.viz.attention_maps import COLOURS, Map, Side, maps_of
from zoo.viz.attention_picture import Input, attention_picture
from zoo.viz.picture_overlay import (
    ACROSS,
    COVER,
    crossing,
    draw_heads,
    draw_words,
    lay_over,
    places_of,
    read_of_patches,
)

SMALL: dict[str, Any] = {"decoder.depth": 1, "decoder.dim": 16}
WORDS = ("<s>", "a", "red", "one")


def cross(names: tuple[str, ...] = WORDS, heads: int = 2) -> Map:
    weights = torch.rand(heads, len(names), 6).softmax(-1)
    return Map("cross", 1, tuple(range(1, heads + 1)), weights, Side(names=names), Side())


def test_the_picture_stands_once_alone_and_once_for_each_word_that_is_written() -> None:
    figure = draw_words(torch.rand(3, 8, 12), [cross(), cross()], (2, 3), "a title")
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["layer 1\nmean of 2 heads", "a", "red", "one"] * 2


def test_long_captions_are_wrapped_into_rows_of_one_length() -> None:
    names = ("<s>", *(f"w{at}" for at in range(ACROSS + 3)))
    figure = draw_words(torch.rand(1, 8, 12), [cross(names)], (2, 3), "a title")
    assert len(figure.axes) == 1 + len(names[1:]) == 2 * 6
    assert [axes.get_title() for axes in figure.axes if axes.get_title()][1:] == list(names[1:])


def test_each_weight_covers_its_place_and_the_larger_the_more() -> None:
    axes = Figure().subplots()
    weights = torch.tensor([[0.0, 0.2], [0.8, 0.0]])
    lay_over(axes, torch.zeros(4, 6, 3, dtype=torch.uint8), weights, 0.8)
    picture, layer = axes.get_images()
    assert picture.get_extent() == layer.get_extent()
    alpha = torch.tensor(layer.get_alpha())
    assert alpha[0, 0] == alpha[1, 1] == 0
    assert 0 < alpha[0, 1] < alpha[1, 0]
    assert layer.get_cmap().name == COLOURS == "viridis"


def test_patches_are_what_the_token_in_front_reads_or_the_mean() -> None:
    weights = torch.eye(5)[[3, 0, 1, 2, 4]]
    assert read_of_patches(weights, (2, 2)).tolist() == [[0, 0], [1, 0]]
    assert read_of_patches(torch.tensor([[1.0, 0.0], [0.5, 0.5]]), (1, 2)).tolist() == [[0.75, 0.25]]
    with pytest.raises(InputError, match="5 vectors for 2x3 patches"):
        read_of_patches(weights, (2, 3))


def test_each_head_has_a_panel_on_one_scale() -> None:
    weights = torch.full((2, 4, 4), 0.25)
    weights[1] = torch.eye(4)[0]
    maps = [Map("encoder", layer, (1, 3), weights, Side(), Side()) for layer in (1, 2)]
    figure = draw_heads(torch.zeros(8, 8, 3, dtype=torch.uint8), maps, (2, 2), "cat")
    panels = [axes for axes in figure.axes if axes.get_title()]
    assert [axes.get_title() for axes in panels] == [
        "layer 1, head 1", "layer 1, head 3", "layer 2, head 1", "layer 2, head 3",
    ]  # fmt: skip
    alphas = [torch.tensor(axes.get_images()[1].get_alpha()) for axes in panels[:2]]
    assert torch.allclose(alphas[0], torch.full((2, 2), COVER / 2))
    assert torch.allclose(alphas[1], COVER * torch.tensor([[1.0, 0.0], [0.0, 0.0]]))


def test_only_cross_attention_with_named_words_is_laid_over() -> None:
    own = Map("decoder", 1, (1,), torch.rand(1, 4, 4), Side(names=WORDS), Side(names=WORDS))
    read = cross()
    assert all(crossing([own, read], part)[0] is read for part in (None, "cross"))
    assert crossing([own, read], "decoder") == []
    assert crossing([own, cross(())], None) == []


@pytest.mark.parametrize("encoder", ["vit-micro", "resnet-micro"])
def test_a_joined_model_is_drawn_on_its_picture_unless_its_vectors_are_pooled(encoder: str) -> None:
    name, words = f"joined:{encoder}+decoder-tiny", ("<s>", "a", "red", "one")
    model: Any = zoo.create(name, **SMALL).eval()
    images, ids = zoo.example(name, 1)[0], torch.tensor([[1, 4, 5, 6]])
    count = model.encode(images).x.shape[1]
    rows, columns = places_of(model, (images, ids), count) or (0, 0)
    assert count - 1 <= rows * columns <= count
    figure, layers = attention_picture(model, Input("a picture", (images, ids), (), words), "a title", None, [], [])
    assert layers == 1
    assert [axes.get_title() for axes in figure.axes][1:] == ["a", "red", "one"]
    model.stem.bridge.pool = 4
    assert places_of(model, (images, ids), 4) is None


@pytest.mark.parametrize(("encoder", "unit"), [("graph-tiny", ""), ("speech-micro", "s")])
def test_what_a_decoder_reads_of_nodes_or_of_time_is_a_heatmap(encoder: str, unit: str) -> None:
    name, words = f"joined:{encoder}+decoder-tiny", ("<s>", "a", "red", "one")
    model: Any = zoo.create(name, **SMALL).eval()
    given = Input("one", (*zoo.example(name, 1)[:-1], torch.tensor([[1, 4, 5, 6]])), (), words)
    (read,) = (each for each in maps_of(model, given.inputs, (), words) if each.part == "cross")
    assert (read.keys.unit, read.queries.names) == (unit, words)
    assert (read.queries.what, read.keys.what) == ("target token", "source time" if unit else "source node")
    assert attention_picture(model, given, "a title", "cross", [], [])[1] == 1


@pytest.mark.parametrize("name", ["caption-rnn-tiny", "caption-tiny"])
def test_a_captioning_model_is_drawn_on_its_picture_and_other_parts_as_heatmaps(name: str) -> None:
    model = zoo.create(name).eval()
    images, ids = zoo.example(name, 1)
    assert places_of(model, (images, ids), 25) == (5, 5)
    words = tuple(f"w{at}" for at in range(ids.shape[1]))
    given = Input("a picture", (images, ids), (), words)
    figure, layers = attention_picture(model, given, "a title", None, [], [])
    crosses = [each for each in maps_of(model, given.inputs, (), words) if each.part == "cross"]
    assert layers == len(crosses)
    assert sum(axes.get_title() in words for axes in figure.axes) == layers * (len(words) - 1)
    if name == "caption-tiny":
        _, own = attention_picture(model, given, "a title", "decoder", [1], [2])
        assert own == 1
        alone, _ = attention_picture(model, given, "a title", "cross", [2], [3])
        assert alone.axes[0].get_title() == "layer 2"
