"""`zoo predict CHECKPOINT INPUT`: labels with their probabilities, a label for each word, or feature vectors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from zoo.cli.answering.answer_lines import FORMATS, AnswerLines
from zoo.cli.answering.asked import Asked
from zoo.cli.answering.thresholds import Thresholds
from zoo.cli.arguments import Checkpoint, Device, Int8, ReadWorkers, check_not_empty, check_out, stream_inputs
from zoo.errors import ConfigError
from zoo.names import counted
from zoo.pipeline import BATCH, Pipeline


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
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of labels shown for each input, or of tokens for each mask.",
            show_default="3; in csv 1, in jsonl all",
        ),
    ] = None,
    kind: Annotated[str, typer.Option("--format", help=f"Format of the answers: {', '.join(FORMATS)}.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format jsonl.")] = False,
    pairs: Annotated[bool, typer.Option("--pairs", help="Each input is two, with a tab between.")] = False,
    features: Annotated[
        Path | None, typer.Option(help="Write the feature vector of each input to this .npz file, in place of labels.")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Inputs computed together; 1 answers line by line.")] = BATCH,
    device: Device = "cpu",
    workers: ReadWorkers = None,
    int8: Int8 = False,
) -> None:
    """Classify inputs: the most probable labels of each, or a label for each word, node or frame; or fill masks.

    Inputs are read, and answers printed, batch by batch, so that a file or a pipe may be of any length.
    """
    lines = AnswerLines("jsonl" if as_json else kind, top)
    if features is not None:
        check_out(features, (".npz",), "--features")
        _check_without_labels({"top": top, "threshold": threshold, "json": as_json, "format": kind != "text" and kind})
    pipeline = Pipeline(model, device, workers=workers, int8=int8)
    if features is None:
        pipeline = pipeline.answering()
    thresholds = Thresholds(threshold or [], pipeline.spec.task)
    if top is not None:
        _check_has_top(pipeline, top)
    lines.several = thresholds if pipeline.spec.task == "multi-label" else None
    lines.numbers = pipeline.answers_numbers
    pipeline.batch_size = batch_size
    given = stream_inputs(inputs, file, undecoded=True)
    asked = Asked(given if isinstance(given, Iterator) else iter(check_not_empty(given)), batch_size, pairs)
    if features is None:
        for each, answer in pipeline.predict(asked.given(), asked.skip, masks=top):
            typer.echo(lines.line(each, answer), nl=False)
    else:
        _write_features(features, pipeline, asked)
    asked.end()


def _check_has_top(pipeline: Pipeline, top: int) -> None:
    """Check that an answer has most probable labels.

    Raises:
        ConfigError: If it has not.
    """
    task = pipeline.spec.task
    others = {"multi-label": "whose inputs have any number: see --threshold", "tag": "which gives one label each"}
    why = "which answers numbers, all of which are shown" if pipeline.answers_numbers else others.get(task)
    if why:
        raise ConfigError(f"--top {top} of a model of task {task!r}, {why}")


def _check_without_labels(given: dict[str, Any]) -> None:
    """Refuse options that say how labels are shown.

    Raises:
        ConfigError: If one is given.
    """
    for name, value in given.items():
        if value:
            shown = "" if value is True else f" {value[0] if isinstance(value, list) else value}"
            raise ConfigError(f"--{name}{shown} with --features: vectors are written in place of labels")


def _write_features(path: Path, pipeline: Pipeline, asked: Asked) -> None:
    from zoo.cli.answering.feature_file import feature_file

    with feature_file(path) as rows:
        for given, row in pipeline.features(asked.given(), asked.skip):
            rows.add("\t".join(given) if isinstance(given, tuple) else given, row)
    typer.echo(f"{counted(rows.count, 'vector')} of {rows.channels} channels in {path}", err=True)
