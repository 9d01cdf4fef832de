"""`zoo attention NAME INPUT`: draw attention weights, layer by layer and head by head."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zoo.atomic_write import atomic_path
from zoo.cli.arguments import Device, check_out
from zoo.cli.looking.chosen_numbers import Heads, Layers, numbers
from zoo.cli.looking.shown_input import check_example, example_of, load
from zoo.cli.looking.told_after import told_after
from zoo.cli.train import overrides
from zoo.errors import ConfigError
from zoo.names import counted
from zoo.pipeline import Pipeline
from zoo.registry import entry_loading
from zoo.viz.attention_picture import MATPLOTLIB, Input, attention_picture, labelled
from zoo.viz.node_names import names_of_nodes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Asked = tuple[str, Callable[[], Input]]
"""What an input is called, and what reads it, and runs a model that generates."""
ENDINGS = (".png", ".svg", ".pdf")
RESOLUTION = 110
"""Dots in an inch."""


def attention(
    model: Annotated[str, typer.Argument(help="Folder that `zoo train` wrote, hf-hub:org/name, or any model.")],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="What the model reads, as for `zoo predict`; by default a random input."),
    ] = None,
    data: Annotated[str | None, typer.Option(help="Draw a test example of this source, such as one-voice.")] = None,
    example: Annotated[int, typer.Option(min=1, help="Number of the test example.")] = 1,
    part: Annotated[
        str | None,
        typer.Option(help="Only encoder or decoder (self-attention), or cross (cross-attention)."),
    ] = None,
    layers: Layers = None,
    heads: Heads = None,
    over_picture: Annotated[
        bool,
        typer.Option(
            "--over-picture", help="Lay over the picture what the class token reads, or all patches on average."
        ),
    ] = False,
    out: Annotated[Path, typer.Option(help="PNG, SVG or PDF file; numbered for several inputs.")] = Path(
        "attention.png"
    ),
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE: override the model's configuration; repeatable.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Use random weights instead of the trained ones.")] = False,
    max_len: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of new tokens of a model that generates.")
    ] = None,
    device: Device = "cpu",
) -> None:
    """Draw attention weights for an input: a panel for each layer and head."""
    check_out(out, ENDINGS)
    check_example(example, data)
    if inputs and data:
        raise ConfigError(f"{counted(len(inputs), 'input')} and --data {data!r}: give one of them")
    entry_loading.require("zoo attention", MATPLOTLIB)
    from zoo.viz.recorder import Selection, check_chosen

    chosen = Selection(part, numbers("--layers", layers), numbers("--heads", heads))
    pipeline, corpus, _ = load(Pipeline(model, device), fresh, overrides(sets or []), data)
    check_chosen(pipeline.model, chosen)
    if corpus is not None:
        _check_generates(max_len, False)
        label = f"{data}, example {example}"
        asked: list[Asked] = [(label, partial(example_of, pipeline, corpus, label, example))]
    else:
        asked = _asked(pipeline, inputs or [], max_len)
    for number, (label, read) in enumerate(asked, start=1):
        path = out.with_stem(f"{out.stem}-{number}") if len(asked) > 1 else out
        over = (lambda: pipeline.preprocess) if over_picture else None
        with told_after(f"{label}: running the model and drawing its attention …"):
            figure, count = attention_picture(
                pipeline.model, read(), f"{model}: {label}", part, chosen.layers, chosen.heads, over
            )
            _save(figure, path)
        typer.echo(f"{label}: {counted(count, 'layer')}, saved in {path}")


def _save(figure: "Figure", path: Path) -> None:
    try:
        with atomic_path(path) as scratch:
            figure.savefig(scratch, dpi=RESOLUTION)
    except OSError as error:
        raise ConfigError(f"--out {str(path)!r} cannot be written: {error}") from error


def _asked(pipeline: Pipeline, lines: list[str], max_len: int | None) -> list[Asked]:
    """Give inputs by what they are, to be read one by one; without lines a random one."""
    generates = bool(lines) and pipeline.model.spec.task == "generate"
    _check_generates(max_len, generates)
    if not lines:
        return [("random numbers", partial(_random, pipeline))]
    prepared = [(line, pipeline.inputs([line])) for line in lines]  # all can be read before the model runs
    return [(line, partial(_shown, pipeline, line, inputs, generates, max_len)) for line, inputs in prepared]


def _random(pipeline: Pipeline) -> Input:
    spec = pipeline.model.spec
    return Input("random numbers", pipeline.placed(entry_loading.load(spec, spec.example)(spec.config, 1, 0)))


def _shown(pipeline: Pipeline, line: str, inputs: tuple[Any, ...], generates: bool, max_len: int | None) -> Input:
    """Name the tokens of an input, and let a model that generates answer it."""
    model = pipeline.model
    if generates:
        bound = pipeline.default_max_len if hasattr(model, "max_len") else None
        inputs = pipeline.placed(model.with_answer(*inputs, max_len=max_len or bound))
    writer = pipeline.postprocess if model.spec.postprocess else None
    shown = labelled(line, model, inputs, pipeline.preprocess, writer)
    nodes = names_of_nodes(pipeline.preprocess, line)
    return shown._replace(source=nodes) if nodes else shown


def _check_generates(max_len: int | None, generates: bool) -> None:
    if max_len is not None and not generates:
        raise ConfigError(f"--max-len {max_len}: nothing is generated here; it is for models that generate")
