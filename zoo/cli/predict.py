"""`zoo predict CHECKPOINT INPUT`: labels with their probabilities, or a label for each word."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import Annotated, Any

import typer

from zoo.cli.arguments import Checkpoint, Device, Int8, ReadWorkers, check_not_empty, stream_inputs
from zoo.errors import InputError
from zoo.names import counted
from zoo.pipeline import Pipeline


def predict(
    model: Checkpoint,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="What the model reads: strings or paths of files; by default the lines of standard input."),
    ] = None,
    file: Annotated[str | None, typer.Option(help="Read one input from each line of this file; - is stdin.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of labels shown for each input.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines, with all labels.")] = False,
    device: Device = "cpu",
    workers: ReadWorkers = None,
    int8: Int8 = False,
) -> None:
    """Classify inputs: the most probable labels of each, or a label for each word, node or frame."""
    pipeline = Pipeline(model, device, workers=workers, int8=int8)
    lines = iter(check_not_empty(stream_inputs(inputs, file)))
    first = list(islice(lines, 2))
    counts = Counter[str]()

    def counted_lines() -> Iterator[str]:
        for line in chain(first, lines):
            counts["all"] += 1
            yield line

    def skip(line: str, error: InputError) -> None:
        counts["skipped"] += 1
        typer.echo(f"zoo: skipped {line!r}: {error}", err=True)

    for line, answer in pipeline.predict(counted_lines(), skip if len(first) > 1 else None):
        typer.echo(_json(line, answer) if as_json else _shown(line, answer, top))
    total = counted(counts["all"], "input")
    if counts["skipped"] == counts["all"]:
        raise InputError(f"no input can be read, of {total}")
    if counts["skipped"]:
        typer.echo(f"zoo: {counts['skipped']} of {total} skipped", err=True)
        raise typer.Exit(1)


def _json(line: str, answer: Any) -> str:
    key = "labels" if isinstance(answer, dict) else "tags" if isinstance(answer, list) else "text"
    return json.dumps({"input": line, key: answer}, ensure_ascii=False)


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
