"""`zoo attention NAME INPUT`: draw attention weights, layer by layer and head by head."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from zoo.atomic_write import atomic_path
from zoo.cli.arguments import Device, check_out
from zoo.cli.looking.shown_input import example_of, load
from zoo.cli.train import overrides
from zoo.errors import ConfigError
from zoo.names import counted
from zoo.pipeline import Pipeline
from zoo.registry import entry_loading
from zoo.viz.attention_picture import MATPLOTLIB, Input, attention_picture, labelled
from zoo.viz.node_names import names_of_nodes

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
    layer: Annotated[list[int] | None, typer.Option(help="Only this layer, from 1; repeatable.")] = None,
    head: Annotated[list[int] | None, typer.Option(help="Only this head, from 1; repeatable.")] = None,
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
    if inputs and data:
        raise ConfigError(f"{counted(len(inputs), 'input')} and --data {data!r}: give one of them")
    entry_loading.require("zoo attention", MATPLOTLIB)
    from zoo.viz.recorder import Selection, check_chosen

    chosen = Selection(part, tuple(layer or ()), tuple(head or ()))
    pipeline, corpus, _ = load(Pipeline(model, device), fresh, overrides(sets or []), data)
    check_chosen(pipeline.model, chosen, "layer", "head")
    if corpus is not None:
        _check_generates(max_len, False)
        examples: Iterable[Input] = [example_of(pipeline, corpus, f"{data}, example {example}", example)]
    else:
        examples = _inputs(pipeline, inputs or [], max_len)
    for number, shown in enumerate(examples, start=1):
        title = f"{model}: {shown.title}"
        over = (lambda: pipeline.preprocess) if over_picture else None
        figure, layers = attention_picture(pipeline.model, shown, title, part, layer or [], head or [], over)
        path = out.with_stem(f"{out.stem}-{number}") if len(inputs or []) > 1 else out
        try:
            with atomic_path(path) as scratch:
                figure.savefig(scratch, dpi=RESOLUTION)
        except OSError as error:
            raise ConfigError(f"--out {str(path)!r} cannot be written: {error}") from error
        typer.echo(f"{shown.title}: {counted(layers, 'layer')}, saved in {path}")


def _inputs(pipeline: Pipeline, lines: list[str], max_len: int | None) -> Iterator[Input]:
    """Yield inputs, with the answers of a model that generates; without inputs a random one."""
    model, spec = pipeline.model, pipeline.model.spec
    generates = bool(lines) and spec.task == "generate"
    _check_generates(max_len, generates)
    bound = pipeline.default_max_len if hasattr(model, "max_len") else None
    if not lines:
        random = entry_loading.load(spec, spec.example)(spec.config, 1, 0)
        yield Input("random numbers", pipeline.placed(random))
    for line, inputs in [(line, pipeline.inputs([line])) for line in lines]:  # all can be read before the model runs
        if generates:
            inputs = pipeline.placed(model.with_answer(*inputs, max_len=max_len or bound))
        writer = pipeline.postprocess if spec.postprocess else None
        shown = labelled(line, model, inputs, pipeline.preprocess, writer)
        nodes = names_of_nodes(pipeline.preprocess, line)
        yield shown._replace(source=nodes) if nodes else shown


def _check_generates(max_len: int | None, generates: bool) -> None:
    if max_len is not None and not generates:
        raise ConfigError(f"--max-len {max_len}: nothing is generated here; it is for models that generate")
