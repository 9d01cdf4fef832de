"""`zoo attention NAME INPUT`: draw attention weights, layer by layer and head by head."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zoo.atomic_write import atomic_path
from zoo.cli.arguments import Device, check_out
from zoo.cli.train import overrides
from zoo.errors import ConfigError, DataError
from zoo.factory import create
from zoo.names import counted
from zoo.pipeline import Pipeline
from zoo.registry import entry_loading
from zoo.viz.attention_picture import MATPLOTLIB, Input, attention_picture, labelled
from zoo.weights.token_ids import fetch_tokenizer

if TYPE_CHECKING:
    from zoo.data.corpus import Corpus

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
    pipeline, corpus = _load(Pipeline(model, device), fresh, overrides(sets or []), data)
    if corpus is not None:
        examples = _example(pipeline, corpus, f"{data}, example {example}", example, max_len)
    else:
        examples = _inputs(pipeline, inputs or [], max_len)
    for number, shown in enumerate(examples, start=1):
        title = f"{model}: {shown.title}"
        figure, layers = attention_picture(pipeline.model, shown, title, part, layer or [], head or [])
        path = out.with_stem(f"{out.stem}-{number}") if len(inputs or []) > 1 else out
        try:
            with atomic_path(path) as scratch:
                figure.savefig(scratch, dpi=RESOLUTION)
        except OSError as error:
            raise ConfigError(f"--out {str(path)!r} cannot be written: {error}") from error
        typer.echo(f"{shown.title}: {counted(layers, 'layer')}, saved in {path}")


def _load(pipeline: Pipeline, fresh: bool, given: dict[str, Any], data: str | None) -> "tuple[Pipeline, Corpus | None]":
    """Make the model, with random weights if there are no others, and open the data it is to fit."""
    import torch

    spec = pipeline.spec
    weights = "" if fresh else next(iter(spec.weights.values()), "")
    fitting: dict[str, Any] = {}
    corpus = None
    if data is not None:
        from zoo.data.corpus import open_corpus
        from zoo.data.subsets import warn_of_notes

        tokenizer = fetch_tokenizer(weights) if weights else None
        spec_of_data = replace(spec.with_config(**given), task=given.get("task", spec.task))
        corpus = open_corpus(data, spec_of_data, tokenizer=str(tokenizer or ""))
        warn_of_notes(corpus)
        if not weights:
            fitting = {key: value for key, value in corpus.overrides().items() if spec.config.get(key) != value}
    torch.manual_seed(0)
    model = create.create(pipeline.name, bool(weights), device=pipeline.device, **(fitting | given)).eval()
    if not weights:
        typer.echo(f"{pipeline.name} has random weights", err=True)
    return Pipeline(pipeline.name, pipeline.device, model), corpus


def _example(pipeline: Pipeline, corpus: "Corpus", title: str, number: int, max_len: int | None) -> Iterator[Input]:
    """Yield a test example of data."""
    _check_generates(max_len, False)
    batch = next(islice(corpus.held_out("test", 1), number - 1, number), None)
    if batch is None:
        raise DataError(
            f"--example {number}: {title.partition(',')[0]!r} has {counted(corpus.sizes['test'], 'test example')}"
        )
    yield labelled(title, pipeline.model, pipeline.placed(batch.inputs), corpus, corpus)


def _inputs(pipeline: Pipeline, lines: list[str], max_len: int | None) -> Iterator[Input]:
    """Yield inputs, with the answers of a model that generates; without inputs a random one."""
    model, spec = pipeline.model, pipeline.model.spec
    generates = bool(lines) and spec.task == "generate"
    _check_generates(max_len, generates)
    bound = pipeline.default_max_len if hasattr(model, "max_len") else None
    if not lines:
        random = entry_loading.load(spec, spec.example)(spec.config, 1, 0)
        yield Input("random numbers", pipeline.placed(random))
    for line in lines:
        inputs = pipeline.inputs([line])
        if generates:
            inputs = pipeline.placed(model.with_answer(*inputs, max_len=max_len or bound))
        yield labelled(line, model, inputs, pipeline.preprocess, pipeline.postprocess if spec.postprocess else None)


def _check_generates(max_len: int | None, generates: bool) -> None:
    if max_len is not None and not generates:
        raise ConfigError(f"--max-len {max_len}: nothing is generated here; it is for models that generate")
