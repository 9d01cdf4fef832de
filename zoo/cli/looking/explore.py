"""`zoo explore NAME INPUT`: one HTML page to explore the attention of a model for an input, or two side by side."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

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
from zoo.viz.node_names import names_of_nodes


def explore(
    model: Annotated[str, typer.Argument(help="Folder that `zoo train` wrote, hf-hub:org/name, or any model.")],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="One input, or two to compare, as for `zoo predict`; by default a random input."),
    ] = None,
    out: Annotated[Path, typer.Option(help="HTML file.")] = Path("attention.html"),
    data: Annotated[str | None, typer.Option(help="Explore a test example of this source, such as one-voice.")] = None,
    example: Annotated[int, typer.Option(min=1, help="Number of the test example.")] = 1,
    part: Annotated[str | None, typer.Option(help="Only encoder, decoder or cross (cross-attention).")] = None,
    layers: Layers = None,
    heads: Heads = None,
    max_len: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of new tokens of a model that generates.")
    ] = None,
    beam: Annotated[int, typer.Option(min=1, help="Beam size of a model that generates; shown as a tree.")] = 1,
    against: Annotated[
        str | None, typer.Option(help="Compare with this model or run, for the same input.", show_default=False)
    ] = None,
    against_fresh: Annotated[
        bool, typer.Option("--against-fresh", help="Compare with the same model before training: random weights.")
    ] = False,
    against_set: Annotated[
        list[str] | None,
        typer.Option("--against-set", help="KEY=VALUE: compare with a model of this configuration; repeatable."),
    ] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE: override the model's configuration; repeatable.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Use random weights instead of the trained ones.")] = False,
    device: Device = "cpu",
) -> None:
    """Write a page that shows the attention of a model: by layer, head and token, over what it read and wrote."""
    check_out(out, (".html", ".htm"))
    given = inputs or []
    other = against or (model if against_fresh or against_set else None)
    if len(given) > 2 or (len(given) == 2 and other):
        raise ConfigError(f"{counted(len(given), 'input')}{' and another model' if other else ''}: a page shows two")
    check_example(example, data)
    if given and data:
        raise ConfigError(f"{counted(len(given), 'input')} and --data {data!r}: give one of them")
    from zoo.viz.explorer.exploration import Exploration, read_of
    from zoo.viz.explorer.pane import MOST, pane_of
    from zoo.viz.recorder import Selection

    chosen = Selection(part, numbers("--layers", layers), numbers("--heads", heads), MOST)
    settings = overrides(sets or [])
    models = [(model, model, fresh, settings)]
    if other:
        changes = overrides(against_set or [])
        title = f"{other} {'fresh' if against_fresh else ' '.join(against_set or [])}".strip()
        models.append((other, title, fresh or against_fresh, settings | changes))
    lines: list[str | None] = [*given] or [None]
    asked: list[Asked] = []
    for name, title, random, config in models:
        asked += _asked(Pipeline(name, device), title, lines, random, config, data, example, chosen)
    panes = []
    while asked:  # all can be read; a model goes with the last of its inputs
        each = asked.pop(0)
        with told_after(f"{each.title}: running the model and gathering its attention …"):
            read = read_of(
                each.model, each.title, each.inputs, each.reader, each.writer, max_len, beam, nodes=each.nodes
            )
            panes.append(replace(pane_of(each.model, read, chosen), random=each.random))
    made = Exploration(panes, shlex.join(["zoo", *sys.argv[1:]]))
    try:
        with atomic_path(out) as scratch:
            scratch.write_text(made.html, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--out {str(out)!r} cannot be written: {error}") from error
    size = len(made.html.encode()) / 1e6
    typer.echo(f"{counted(sum(len(pane.maps) for pane in panes), 'map')}, {size:.1f} MB, saved in {out}")
    if size > 20:
        typer.echo(f"zoo: a page of {size:.0f} MB opens slowly: --layers and --heads make it smaller", err=True)


class Asked(NamedTuple):
    """Hold a model and an input that it reads, before it runs.

    Args:
        model: in evaluation mode.
        title: of both.
        inputs: as for `forward`.
        reader: has the tokenizer of the source, or of the prompt.
        writer: has that of the answer.
        nodes: names of the nodes of a graph.
        random: whether the model's weights are random.
    """

    model: Any
    title: str
    inputs: tuple[Any, ...]
    reader: Any = None
    writer: Any = None
    nodes: Sequence[str] = ()
    random: bool = False


def _asked(
    pipeline: Pipeline,
    title: str,
    lines: Sequence[str | None],
    fresh: bool,
    config: dict[str, Any],
    data: str | None,
    example: int,
    chosen: Any,
) -> list[Asked]:
    """Make a model and read its inputs.

    Raises:
        ConfigError: If the model has no attention weights, or not the chosen ones.
        InputError: If an input cannot be read.
    """
    from zoo.viz.recorder import check_chosen

    pipeline, corpus, random = load(pipeline, fresh, config, data)
    check_chosen(pipeline.model, chosen)
    asked = [_read(pipeline, corpus, title, line, data, example) for line in lines]
    return [each._replace(random=random) for each in asked]


def _read(pipeline: Pipeline, corpus: Any, title: str, line: str | None, data: str | None, example: int) -> Asked:
    model, spec = pipeline.model, pipeline.model.spec
    if corpus is not None:
        shown = example_of(pipeline, corpus, f"{data}, example {example}", example)
        return Asked(model, f"{title}: {shown.title}", shown.inputs, getattr(corpus, "source_side", corpus), corpus)
    if line is None:
        random = entry_loading.load(spec, spec.example)(spec.config, 1, 0)
        return Asked(model, f"{title}: random input", pipeline.placed(random))
    inputs, reader = pipeline.inputs([line]), pipeline.preprocess
    writer = pipeline.postprocess if spec.postprocess else None
    return Asked(model, f"{title}: {line}", inputs, reader, writer, names_of_nodes(reader, line))
