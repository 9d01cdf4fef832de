"""The attention of a model for one input as a figure: heatmaps, a graph with its edges, or laid over a picture."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from zoo.errors import ConfigError
from zoo.registry.entry_loading import require
from zoo.spec import Requirement

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MATPLOTLIB = (Requirement(module="matplotlib", distribution="matplotlib", install="attention-zoo[bench]"),)
NETWORKX = (Requirement(module="networkx", distribution="networkx", install="attention-zoo[graph]"),)


class Input(NamedTuple):
    """Input of a model, with names for the axes of its maps.

    Args:
        title: of the input.
        inputs: as for `forward`.
        source: tokens of the encoder, or names of the nodes of a graph; none where its inputs have none.
        target: tokens of the decoder.
    """

    title: str
    inputs: tuple[Any, ...]
    source: Sequence[str] = ()
    target: Sequence[str] = ()


def attention_picture(
    model: Any,
    shown: Input,
    title: str,
    part: str | None,
    layers: Sequence[int],
    heads: Sequence[int],
    over: Callable[[], Any] | None = None,
) -> tuple["Figure", int]:
    """Draw attention weights, a panel for each layer and head, and return the figure and the number of layers.

    Where the model attends along the edges of a graph, the graph is drawn, and layers with global attention are left
    out. Where a decoder reads a picture, its cross-attention is laid over the picture, once for each word; the other
    attentions are drawn as heatmaps where `part` asks for them.

    Args:
        model: of any kind.
        shown: its input.
        title: of the figure.
        part: encoder, decoder or cross; all if None.
        layers: their numbers from 1; all if empty.
        heads: their numbers from 1; all if empty.
        over: gives the preprocessing of a model of pictures, to lay attention over the picture; None for matrices.

    Raises:
        ConfigError: If it is to lie over a picture, and the model reads none.
    """
    require("zoo attention", MATPLOTLIB)
    from zoo.viz import edge_maps, heatmap, picture_overlay
    from zoo.viz.attention_maps import chosen, maps_of

    if part in (None, "encoder") and (on_edges := edge_maps.edge_maps_of(model, shown.inputs)):
        require("zoo attention", NETWORKX)
        from zoo.viz import graph_plot

        along = chosen(on_edges, part, layers, heads)
        return graph_plot.draw(along, title, shown.source), len(along)
    maps = maps_of(model, shown.inputs, shown.source, shown.target)
    reading = picture_overlay.crossing(maps, part)
    vectors = reading[0].weights.shape[-1] if reading else 0
    if reading and (grid := picture_overlay.places_of(model, shown.inputs, vectors)):
        drawn = chosen(reading, part, layers, heads)
        return picture_overlay.draw_words(shown.inputs[0][0], drawn, grid, title), len(drawn)
    maps = chosen(maps, part, layers, heads)
    if over is not None:
        return _over_picture(maps, shown, title, over), len(maps)
    return heatmap.draw(maps, title), len(maps)


def _over_picture(maps: Sequence[Any], shown: Input, title: str, over: Callable[[], Any]) -> "Figure":
    from zoo.viz import picture_overlay
    from zoo.viz.explorer.media import grid_of, pixels_of

    image = shown.inputs[0]
    if not (hasattr(image, "is_floating_point") and image.is_floating_point() and image.ndim == 4):
        raise ConfigError("--over-picture: this model reads no pictures")
    preprocess = over()
    told = preprocess.portable() if hasattr(preprocess, "portable") else {}
    read = [each for each in maps if each.part in ("encoder", "cross")]
    if not read:
        raise ConfigError("--over-picture with --part decoder: its vectors are tokens; take --part encoder or cross")
    height, width = image.shape[2:]
    grid = grid_of(height, width, read[0].weights.shape[-1])
    return picture_overlay.draw_heads(pixels_of(image[0], told), read, grid, title)


def labelled(title: str, model: Any, inputs: tuple[Any, ...], reader: Any, writer: Any) -> Input:
    """Name the tokens of inputs, by the tokenizers of what reads the source and of what writes the target."""
    if getattr(model, "target", None) is None:
        return Input(title, inputs, _tokens(inputs[0], reader))
    if getattr(model, "encoder", None) is None:  # a decoder alone: its prompt is its target
        return Input(title, inputs, (), _tokens(inputs[0], reader))
    return Input(title, inputs, _tokens(inputs[0], reader), _tokens(inputs[-1], writer))


def _tokens(ids: Any, holder: Any) -> list[str]:
    """Return the tokens of the first row by the `tokenizer` of their holder; nothing for other inputs."""
    if not hasattr(ids, "is_floating_point") or ids.is_floating_point() or ids.ndim != 2:
        return []
    tokenizer = getattr(holder, "tokenizer", None)
    return [] if tokenizer is None else tokenizer.names(ids[0])
