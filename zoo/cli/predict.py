"""`zoo predict CHECKPOINT INPUT`: labels with their probabilities, or a label for each word."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Annotated, Any

import typer

from zoo.cli.arguments import Checkpoint, Device, Int8, ReadWorkers, check_not_empty, stream_inputs
from zoo.errors import ConfigError, InputError
from zoo.names import counted
from zoo.pipeline import Pipeline

THRESHOLD = 0.5
"""Of labels of which an input may have any."""


def predict(
    model: Checkpoint,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="What the model reads: strings or paths of files; by default the lines of standard input."),
    ] = None,
    file: Annotated[str | None, typer.Option(help="Read one input from each line of this file; - is stdin.")] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            help="Probability from which on a label is printed, where an input has any number of labels: a number, or "
            "LABEL=NUMBER for one label; can be given several times.",
            show_default="0.5",
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of labels shown for each input that has one label.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines, with all labels.")] = False,
    device: Device = "cpu",
    workers: ReadWorkers = None,
    int8: Int8 = False,
) -> None:
    """Classify inputs: the most probable labels of each, all it has, or a label for each word, node or frame."""
    pipeline = Pipeline(model, device, workers=workers, int8=int8)
    limits = _thresholds(threshold or [], pipeline.spec.task)
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
        typer.echo(_json(line, answer) if as_json else _shown(line, answer, top, limits))
    total = counted(counts["all"], "input")
    if counts["skipped"] == counts["all"]:
        raise InputError(f"no input can be read, of {total}")
    if counts["skipped"]:
        typer.echo(f"zoo: {counts['skipped']} of {total} skipped", err=True)
        raise typer.Exit(1)


def _json(line: str, answer: Any) -> str:
    key = "labels" if isinstance(answer, dict) else "tags" if isinstance(answer, list) else "text"
    return json.dumps({"input": line, key: answer}, ensure_ascii=False)


def _thresholds(given: Sequence[str], task: str) -> dict[str, float] | None:
    """Read the thresholds of labels, that of all others by the name ""; None where each input has one label.

    Raises:
        ConfigError: If one is no probability, or labels exclude each other.
    """
    if task != "multi-label" and given:
        raise ConfigError(f"--threshold {given[0]} of a model of task {task!r}, which gives one label: see --top")
    found = {"": THRESHOLD}
    for text in given:
        label, _, number = text.rpartition("=")
        try:
            found[label] = float(number)
        except ValueError:
            found[label] = -1
        if not 0 <= found[label] <= 1:
            raise ConfigError(f"--threshold {text}: a probability is wanted, from 0 to 1, or LABEL=PROBABILITY")
    return found if task == "multi-label" else None


def _shown(line: str, answer: Any, top: int, limits: Mapping[str, float] | None = None) -> str:
    if isinstance(answer, dict) and limits is not None:
        if unknown := [label for label in limits if label and label not in answer]:
            raise ConfigError(f"--threshold {unknown[0]}=…: the labels are {', '.join(answer)}")
        chosen = [(label, chance) for label, chance in answer.items() if chance >= limits.get(label, limits[""])]
        chosen.sort(key=lambda item: -item[1])
        return f"{line}\t" + ("  ".join(f"{label} {chance:.3f}" for label, chance in chosen) or "(none)")
    if isinstance(answer, dict):
        best = sorted(answer.items(), key=lambda item: -item[1])[:top]
        return f"{line}\t" + "  ".join(f"{label} {probability:.3f}" for label, probability in best)
    if isinstance(answer, str):
        return answer
    words = line.split()
    if len(words) != len(answer):
        return f"{line}\t{' '.join(answer)}"
    return "\n".join(f"{word}\t{tag}" for word, tag in zip(words, answer, strict=True)) + "\n"
