"""`zoo attention NAME INPUT`: draw who reads whom, layer by layer and head by head."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from zoo import pipeline
from zoo.cli.train import overrides
from zoo.errors import ConfigError, DataError, InputError
from zoo.factory import create as build
from zoo.registry import entry_loading as entries
from zoo.spec import Requirement
from zoo.weights import hub

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MATPLOTLIB = (Requirement(module="matplotlib", distribution="matplotlib", install="attention-zoo[bench]"),)
NETWORKX = (Requirement(module="networkx", distribution="networkx", install="attention-zoo[graph]"),)
ENDINGS = (".png", ".svg", ".pdf")
RESOLUTION = 110
"""Dots in an inch."""
LONGEST = 256
"""Tokens at most of a model that could write any number, where nobody says."""


def attention(
    model: Annotated[str, typer.Argument(help="Folder that `zoo train` wrote, hf-hub:org/name, or any model's name.")],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="Files of sound or pictures, texts, SMILES; else random numbers."),
    ] = None,
    data: Annotated[str | None, typer.Option(help="Read an example of these data, such as one-voice.")] = None,
    example: Annotated[int, typer.Option(min=1, help="Its number among the test examples.")] = 1,
    part: Annotated[str | None, typer.Option(help="Only encoder, decoder, or cross: what a decoder reads.")] = None,
    layer: Annotated[list[int] | None, typer.Option(help="Only this one, from 1; may be given again.")] = None,
    head: Annotated[list[int] | None, typer.Option(help="Only this one, from 1; may be given again.")] = None,
    out: Annotated[Path, typer.Option(help="PNG, SVG or PDF; several inputs are numbered.")] = Path("attention.png"),
    sets: Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE of the model's configuration.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Take random weights, also where there are others.")] = False,
    max_len: Annotated[int | None, typer.Option(min=1, help="Steps at most of a model that writes.")] = None,
    device: pipeline.Device = "cpu",
) -> None:
    """Draw the attention of a model that reads inputs: a panel for each layer and head."""
    pipeline.refuse_out(out, ENDINGS)
    if inputs and data:
        raise ConfigError(f"{len(inputs)} inputs and --data {data!r}: give one of them")
    entries.require("zoo attention", MATPLOTLIB)
    viewer = Viewer(pipeline.reference(model), device, fresh, overrides(sets or []), data)
    for number, view in enumerate(viewer.views(inputs or [], example, max_len), start=1):
        figure, layers = picture(viewer.model, view, f"{model}: {view.title}", (part, layer or [], head or []))
        path = out.with_stem(f"{out.stem}-{number}") if len(inputs or []) > 1 else out
        try:
            figure.savefig(path, dpi=RESOLUTION)
        except OSError as error:
            raise ConfigError(f"--out {str(path)!r} cannot be written: {error}") from error
        typer.echo(f"{view.title}: {layers} layer{'s' if layers > 1 else ''}, saved in {path}")


class View(NamedTuple):
    """Hold what a model reads.

    Args:
        title: of it.
        inputs: as for `forward`.
        read: names of the source's vectors; none where they are no tokens.
        written: names of the decoder's.
    """

    title: str
    inputs: tuple[Any, ...]
    read: Sequence[str] = ()
    written: Sequence[str] = ()


def picture(
    model: Any, view: View, title: str, choice: tuple[str | None, list[int], list[int]]
) -> tuple["Figure", int]:
    """Draw who reads whom, on the edges of a graph where the model reads along some, and say how many layers that are.

    Of a model that reads whole graphs as well, that is left out.

    Args:
        model: that reads.
        view: what it reads.
        title: of the figure.
        choice: part, layers and heads; see `chosen`.
    """
    from zoo.viz import edge_maps, heatmap
    from zoo.viz.attention_maps import chosen, maps_of

    if on_edges := edge_maps.edge_maps_of(model, view.inputs):
        entries.require("zoo attention", NETWORKX)
        from zoo.viz import graph_plot as network

        drawn = chosen(on_edges, *choice)
        return network.draw(drawn, title), len(drawn)
    maps = chosen(maps_of(model, *view[1:]), *choice)
    return heatmap.draw(maps, title), len(maps)


class Viewer:
    """Hold a model, and what gives and names its inputs.

    Args:
        name: of the model, as for `zoo.create`; one without weights is made with random ones.
        device: where it computes.
        fresh: whether weights are random in any case.
        given: of the model's configuration.
        data: whose examples are read, as for `zoo train`; None where inputs are given.
    """

    def __init__(self, name: str, device: str, fresh: bool, given: dict[str, Any], data: str | None) -> None:
        import torch

        self.name, self.device, self.data = name, device, data
        spec = build.info(name)
        weights = "" if fresh else next(iter(spec.weights.values()), "")
        fitting: dict[str, Any] = {}
        if data is not None:
            from zoo.data.corpus import open_corpus

            vocabulary = hub.fetch(weights, ("tokenizer.json",)) if weights else None
            asked = replace(spec.with_config(**given), task=given.get("task", spec.task))
            self.corpus = open_corpus(data, asked, tokenizer=str(vocabulary or ""))
            if not weights:
                own = spec.config
                fitting = {key: value for key, value in self.corpus.overrides().items() if own.get(key) != value}
        torch.manual_seed(0)
        self.model: Any = build.create(name, bool(weights), device=device, **(fitting | given)).eval()
        if not weights:
            typer.echo(f"{name} has random weights", err=True)

    def views(self, lines: list[str], number: int, max_len: int | None) -> Iterator[View]:
        """Give what the model reads, one after the other.

        Args:
            lines: texts, or names of files; without them and data, random numbers are read.
            number: of the example of the data.
            max_len: steps at most that the model writes; if None its own number, or 256 where it has none.

        Raises:
            ConfigError: If a model that does not write is asked for steps.
            DataError: If there is no such example.
            InputError: If an input cannot be read.
        """
        writes = bool(lines) and self.model.spec.task == "generate"
        if max_len is not None and not writes:
            raise ConfigError(f"--max-len {max_len}: nothing is written here; that is for inputs of models that write")
        if self.data is not None:
            batch = next(islice(self.corpus.held_out("test", 1), number - 1, number), None)
            if batch is None:
                there = self.corpus.sizes["test"]
                raise DataError(f"--example {number}: {self.data!r} has {there:,} test examples")
            yield self._named(f"{self.data}, example {number}", batch.inputs, self.corpus, self.corpus)
        elif not lines:
            spec = self.model.spec
            inputs = entries.load(spec, spec.example)(spec.config, 1, 0)
            yield View("random numbers", self._placed(inputs))
        else:
            read = build.preprocess(self.name)
            show = build.postprocess(self.name) if self.model.spec.postprocess else None
            if writes and getattr(self.model, "max_len", 0) is None:
                max_len = max_len or LONGEST
            for line in lines:
                inputs = self._placed(_read(read, line))
                yield self._named(
                    line, self.model.with_answer(*inputs, max_len=max_len) if writes else inputs, read, show
                )

    def _named(self, title: str, inputs: tuple[Any, ...], reader: Any, writer: Any) -> View:
        """Name the vectors that are tokens, by the vocabularies of those who read and write them."""
        inputs = self._placed(inputs)
        if getattr(self.model, "target", None) is None:
            return View(title, inputs, names(inputs[0], reader))
        if getattr(self.model, "encoder", None) is None:  # a decoder alone reads what it goes on from
            return View(title, inputs, (), names(inputs[0], reader))
        return View(title, inputs, names(inputs[0], reader), names(inputs[-1], writer))

    def _placed(self, inputs: Any) -> tuple[Any, ...]:
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        return tuple(each.to(self.device) if hasattr(each, "to") else each for each in inputs)


def names(ids: Any, holder: Any) -> list[str]:
    """Give what the tokens of a row are, by the `tokenizer` of whoever made or reads them; nothing for other inputs."""
    if not hasattr(ids, "is_floating_point") or ids.is_floating_point() or ids.ndim != 2:
        return []
    tokenizer = getattr(holder, "tokenizer", None)
    return [] if tokenizer is None else tokenizer.names(ids[0])


def _read(read: Any, line: str) -> Any:
    try:
        return read([line])
    except OSError as error:  # of a file that is named
        raise InputError(f"an input cannot be read: {error}") from error
