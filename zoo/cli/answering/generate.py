"""`zoo generate CHECKPOINT TEXT`: generate text."""

import inspect
import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from zoo.cli.answering.asked import Asked
from zoo.cli.arguments import Checkpoint, Device, Int8, check_not_empty, stream_inputs
from zoo.errors import ConfigError
from zoo.pipeline import Pipeline

_USUAL = {
    "beam": 1,
    "n_best": 1,
    "length_penalty": 0.6,
    "min_len": 0,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
}


def generate(
    model: Checkpoint,
    texts: Annotated[
        list[str] | None,
        typer.Argument(help="Sources or prompts, or paths of files; by default the lines of standard input."),
    ] = None,
    file: Annotated[str | None, typer.Option(help="Read one input from each line of this file; - is stdin.")] = None,
    max_len: Annotated[
        int | None, typer.Option(help="Maximum number of new tokens.", show_default="the model's own, or 256")
    ] = None,
    beam: Annotated[int, typer.Option(help="Beam size; 1 is greedy search.")] = 1,
    length_penalty: Annotated[
        float, typer.Option(help="Length penalty of beam search: larger favours longer answers; 0 for none.")
    ] = 0.6,
    n_best: Annotated[int, typer.Option(help="Number of answers for each input, with their scores.")] = 1,
    temperature: Annotated[
        float | None, typer.Option(help="Sample at this temperature; 0 is greedy.", show_default="no sampling")
    ] = None,
    top_k: Annotated[int | None, typer.Option(help="Sample from the K most probable tokens.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Nucleus sampling: from the most probable tokens with this total probability.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed of sampling.")] = None,
    min_len: Annotated[int, typer.Option(help="Minimum number of new tokens before the end.")] = 0,
    repetition_penalty: Annotated[
        float, typer.Option(help="Penalty of tokens in prompt and answer: above 1 avoids repetitions; 1 for none.")
    ] = 1.0,
    no_repeat_ngram_size: Annotated[
        int, typer.Option(help="No sequence of this many tokens is written twice; 0 allows all.")
    ] = 0,
    stop: Annotated[
        list[str] | None,
        typer.Option(help="End an answer with this string, which is kept; several are possible."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Print the log-probability of this answer to each input; nothing is generated.")
    ] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Print each token as soon as it is generated.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
    device: Device = "cpu",
    int8: Int8 = False,
) -> None:
    """Generate text: an answer to each input (encoder-decoder models), or its continuation (language models)."""
    options: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    options |= {"min_len": min_len, "repetition_penalty": repetition_penalty}
    options |= {"no_repeat_ngram_size": no_repeat_ngram_size, "stop": stop or None}
    searches = {"beam": beam, "length_penalty": length_penalty, "n_best": n_best}
    if stream:
        _check_without({**searches, "json": as_json or None}, "--stream shows one answer while it is written")
    if target is not None:
        written = {**options, **searches, "max_len": max_len, "stream": stream or None}
        _check_without(written, f"--target {target!r} scores a given answer")
    pipeline = Pipeline(model, device, int8=int8)
    given = stream_inputs(texts, file, undecoded=True)
    lines = given if isinstance(given, Iterator) else list(given)
    if temperature == 0:
        typer.echo("--temperature 0: no sampling, the most probable token each time (greedy)", err=True)
        temperature = None if beam > 1 else temperature  # nothing is sampled: a search may do that
    pipeline.check_generates()
    continues = getattr(pipeline.model, "encoder", None) is None
    if not continues and isinstance(lines, list):
        check_not_empty(lines)
    asked = Asked(iter(lines), pipeline.batch_size, blank=continues)
    if target is not None:
        _print_scores(pipeline, asked, target, as_json)
        return
    options["temperature"] = temperature
    options["max_len"] = pipeline.default_max_len if max_len is None else max_len
    if stream:
        for line in asked.given():
            with asked.skipping(line):
                for piece in pipeline.stream(line, **options):
                    typer.echo(piece, nl=False)
                typer.echo()
        asked.end()
        return
    options |= searches
    for line, answers in pipeline.generate(asked.given(), asked.skip, **accepted_options(pipeline.model, options)):
        if as_json:
            found = [{"text": text, "score": score} for text, score in answers]
            typer.echo(json.dumps({"input": line, "answers": found}, ensure_ascii=False))
        else:
            for text, score in answers:
                typer.echo(f"{score:.4f}\t{text}" if n_best > 1 else text)
    asked.end()


def _check_without(options: dict[str, Any], reason: str) -> None:
    """Refuse options that would change nothing.

    Raises:
        ConfigError: If one is given.
    """
    if given := _given(options):
        raise ConfigError(f"{reason}: without {', '.join(map(_option, given))}")


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None and value != _USUAL.get(key)}


def _option(keyword: str) -> str:
    return f"--{keyword.replace('_', '-')}"


def _print_scores(pipeline: Pipeline, asked: Asked, target: str, as_json: bool) -> None:
    """Print the score of one answer to each input that can be read."""
    for line, score in pipeline.scored(asked.given(), target, asked.skip):
        found = json.dumps({"input": line, "target": target, "score": score}, ensure_ascii=False)
        typer.echo(found if as_json else f"{score:.4f}\t{target}")
    asked.end()


def accepted_options(model: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Leave out options that were not given, and refuse those that a model does not take."""
    known = inspect.signature(model.generate).parameters
    given = _given(options)
    for key in given.keys() - known.keys():
        raise ConfigError(f"{_option(key)} {given[key]}: '{model.spec.name}' has no such option")
    return given
