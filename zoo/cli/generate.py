"""`zoo generate CHECKPOINT TEXT`: let a model write."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from zoo import pipeline
from zoo.errors import ConfigError

_BATCH = 32
_LONGEST = 256
"""Tokens at most of a model that could write any number, where nobody says."""


def generate(
    model: pipeline.Checkpoint,
    texts: Annotated[
        list[str] | None, typer.Argument(help="What it reads, or goes on from; else what is piped.")
    ] = None,
    file: Annotated[str | None, typer.Option(help="Read one text from each line.")] = None,
    max_len: Annotated[
        int | None, typer.Option(help="New tokens at most. [default: what the model holds, or 256]")
    ] = None,
    beam: Annotated[int, typer.Option(help="Answers that are followed at once; 1 is greedy.")] = 1,
    length_penalty: Annotated[float, typer.Option(help="Favours long answers of a beam; 0 for none.")] = 0.6,
    n_best: Annotated[int, typer.Option(help="Answers of each text, with their scores.")] = 1,
    temperature: Annotated[float | None, typer.Option(help="Draw, from scores divided by this; 0 is greedy.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Draw from so many of the likeliest tokens.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Draw from the likeliest tokens of this probability.")] = None,
    seed: Annotated[int | None, typer.Option(help="The same draws each time.")] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Show each token as it is written.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    device: pipeline.Device = "cpu",
) -> None:
    """Let a model write: an answer to each text, or how it goes on."""
    if stream and (beam > 1 or n_best > 1 or as_json):
        raise ConfigError("--stream shows one answer while it is written: without --beam, --n-best and --json")
    name = pipeline.reference(model)
    lines = pipeline.given(texts, file)
    if temperature == 0:
        typer.echo("--temperature 0: no draws, the likeliest token each time (greedy)", err=True)
        temperature = None if beam > 1 else temperature  # nothing is drawn: a search may do that
    writer = Writer(name, device)
    if getattr(writer.model, "encoder", None) is not None:
        pipeline.refuse_empty(lines)
    if max_len is None and getattr(writer.model, "max_len", None) is None:
        max_len = _LONGEST
    drawing = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed, "max_len": max_len}
    if stream:
        for line in lines:
            for piece in writer.pieces(line, **drawing):
                typer.echo(piece, nl=False)
            typer.echo()
        return
    options = drawing | {"beam": beam, "length_penalty": length_penalty, "n_best": n_best}
    for line, answers in writer.answers(lines, options):
        if as_json:
            found = [{"text": text, "score": score} for text, score in answers]
            typer.echo(json.dumps({"input": line, "answers": found}, ensure_ascii=False))
        else:
            for text, score in answers:
                typer.echo(f"{score:.4f}\t{text}" if n_best > 1 else text)


class Writer:
    """Hold a model that writes, what prepares its inputs, and what turns its ids into text.

    Args:
        name: of the model, as for `zoo.create`.
        device: where it computes.

    Raises:
        ConfigError: If the model does not write.
    """

    def __init__(self, name: str, device: str) -> None:
        from zoo.factory import create as build

        spec = build.info(name)
        if spec.task != "generate":  # before weights are fetched
            raise ConfigError(f"{name!r} is a '{spec.name}', which does not write: zoo predict shows labels")
        self.model = pipeline.load(name, device)
        self.device = device
        self.read, self.show = build.preprocess(name), build.postprocess(name)

    def answers(self, lines: list[str], options: dict[str, Any]) -> Iterator[tuple[str, list[tuple[str, float]]]]:
        """Give each text with its answers and their scores, best first."""
        import math

        for first in range(0, len(lines), _BATCH):
            part = lines[first : first + _BATCH]
            found = self.model.generate(*self._inputs(part), **_fitting(self.model, options))
            for line, ids, lengths, scores in zip(part, found.ids, found.lengths, found.scores, strict=True):
                rows = [row[:length].tolist() for row, length in zip(ids, lengths.tolist(), strict=True)]
                pairs = list(zip(self.show(rows), scores.tolist(), strict=True))
                yield line, [(text, score) for text, score in pairs if score > -math.inf]

    def pieces(self, line: str, **options: Any) -> Iterator[str]:
        """Give the answer to a text piece by piece; a letter of several bytes comes when it is whole."""
        if not hasattr(self.model, "generate_steps"):
            raise ConfigError(f"--stream with '{self.model.spec.name}', which writes all tokens at once")
        ids: list[int] = []
        shown = ""
        for step in self.model.generate_steps(*self._inputs([line]), **options):
            if int(step[0]) == self.model.symbols.eos:
                break
            ids.append(int(step[0]))
            (text,) = self.show([ids])
            if text.startswith(shown) and not text.endswith("\N{REPLACEMENT CHARACTER}"):
                yield text[len(shown) :]
                shown = text
        (text,) = self.show([ids]) if ids else ("",)
        yield text[len(shown) :]

    def _inputs(self, lines: list[str]) -> tuple[Any, ...]:
        return tuple(each.to(self.device) for each in self.read(lines))


def _fitting(model: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was not asked for, and refuse what a model does not take."""
    import inspect

    known = inspect.signature(model.generate).parameters
    usual = {"beam": 1, "n_best": 1, "length_penalty": 0.6}
    asked = {key: value for key, value in options.items() if value is not None and value != usual.get(key)}
    for key in asked.keys() - known.keys():
        raise ConfigError(f"--{key.replace('_', '-')} {asked[key]} with '{model.spec.name}', which takes no such wish")
    return asked
