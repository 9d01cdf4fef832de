"""`zoo predict CHECKPOINT INPUT`: labels with their probabilities, or a label for each word."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zoo import pipeline
from zoo.errors import ConfigError, InputError, WeightsError

if TYPE_CHECKING:
    from zoo.spec import ModelSpec

_BATCH = 32


def predict(
    model: pipeline.Checkpoint,
    inputs: Annotated[
        list[str] | None, typer.Argument(help="Texts, files of pictures or sound, SMILES; else piped lines.")
    ] = None,
    file: Annotated[str | None, typer.Option(help="Read one input from each line.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Labels shown of each input.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with all labels.")] = False,
    device: pipeline.Device = "cpu",
) -> None:
    """Label inputs: the likeliest labels of each, or a label for each of its words."""
    name = pipeline.reference(model)
    lines = pipeline.given(inputs, file)
    pipeline.refuse_empty(lines)
    reader = Reader(name, device)
    for line, answer in reader.answers(lines):
        if as_json:
            key = "labels" if isinstance(answer, dict) else "tags" if isinstance(answer, list) else "text"
            typer.echo(json.dumps({"input": line, key: answer}, ensure_ascii=False))
        else:
            typer.echo(_shown(line, answer, top))
    if reader.skipped:
        typer.echo(f"zoo: {reader.skipped} of {len(lines)} inputs skipped", err=True)


def _shown(line: str, answer: Any, top: int) -> str:
    if isinstance(answer, dict):
        best = sorted(answer.items(), key=lambda item: -item[1])[:top]
        return f"{line}\t" + "  ".join(f"{label} {probability:.3f}" for label, probability in best)
    if isinstance(answer, str):
        return answer
    words = line.split()
    if len(words) != len(answer):
        return f"{line}\t{' '.join(answer)}"
    return "\n".join(f"{word}\t{tag}" for word, tag in zip(words, answer, strict=True)) + "\n"


class Reader:
    """Hold a model that labels, what prepares its inputs, and what names its answers.

    Args:
        name: of the model, as for `zoo.create`.
        device: where it computes.

    Raises:
        ConfigError: If the model gives no labels.
    """

    def __init__(self, name: str, device: str) -> None:
        from zoo.factory import create as build

        self.spec = build.info(name)
        if self.spec.task in ("generate", "features"):
            other = "zoo generate lets it write" if self.spec.task == "generate" else "it gives vectors"
            raise ConfigError(f"{name!r} is a '{self.spec.name}' without labels: {other}")
        self.model = pipeline.load(name, device)
        self.device = device
        self.skipped = 0
        self.read = build.preprocess(name)
        self.show = build.postprocess(name) if self.spec.postprocess else Probabilities(self.spec)

    def answers(self, lines: list[str]) -> Iterator[tuple[str, Any]]:
        """Give each input with its answer: probabilities by label, or a list of tags.

        Of several inputs those that cannot be read are named and counted.

        Raises:
            InputError: If none can be read.
        """
        import torch

        for first in range(0, len(lines), _BATCH):
            for part, inputs in self._readable(lines[first : first + _BATCH], len(lines) == 1):
                with torch.no_grad():
                    answer = self.model(*inputs).cpu()
                whose = inputs[3] if self.spec.modality == "graph" else part  # of nodes, the graph they belong to
                yield from zip(part, self.show(answer, whose), strict=True)
        if self.skipped == len(lines):
            raise InputError(f"none of the {self.skipped} inputs can be read")

    def _readable(self, part: list[str], alone: bool) -> Iterator[tuple[list[str], tuple[Any, ...]]]:
        """Give inputs made ready together, or one by one where one of them cannot be read."""
        try:
            yield part, self._inputs(part)
        except InputError as error:
            if len(part) > 1:
                for line in part:
                    yield from self._readable([line], alone)
                return
            if alone:
                raise
            self.skipped += 1
            typer.echo(f"zoo: skipped {part[0]!r}: {error}", err=True)

    def _inputs(self, lines: list[str]) -> tuple[Any, ...]:
        try:
            inputs = self.read(lines)
        except OSError as error:  # of files that are named
            raise InputError(f"an input cannot be read: {error}") from error
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        return tuple(None if each is None else each.to(self.device) for each in inputs)


class Probabilities:
    """Name the scores of a set's labels, for models that bring nothing of their own.

    Args:
        spec: of the model; beside its weights lies `labels.json`, a list of names.
    """

    def __init__(self, spec: "ModelSpec") -> None:
        from zoo.weights import hub

        where = next(iter(spec.weights.values()), "")
        path = hub.fetch(where, ("labels.json",)) if where else None
        try:
            self.names = json.loads(path.read_text(encoding="utf-8")) if path else []
        except ValueError as error:
            raise WeightsError(f"{str(path)!r} cannot be read: {error}") from error

    def __call__(self, answer: Any, inputs: list[str]) -> list[dict[str, float]]:
        """Give the probability of each label."""
        names = self.names or [str(place) for place in range(answer.shape[-1])]
        if answer.ndim != 2 or len(names) != answer.shape[-1]:
            raise WeightsError(f"labels.json names {len(names)} labels, the answers are {tuple(answer.shape)}")
        return [dict(zip(names, row, strict=True)) for row in answer.float().softmax(-1).tolist()]
