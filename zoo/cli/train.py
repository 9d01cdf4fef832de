"""`zoo train NAME --data … --out DIR`: train a model, stop it and resume it."""

import inspect
import json
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from zoo.errors import ConfigError
from zoo.names import counted
from zoo.training.config import Devices, Settings

F = TypeVar("F", bound=Callable[..., Any])
STOPPED = 130
"""Exit code of a training that was stopped, as shells give it for Ctrl-C."""


def _options(kind: type[Any]) -> Iterator[inspect.Parameter]:
    """Make options of the fields of a dataclass."""
    hints = get_type_hints(kind)
    for each in fields(kind):
        typed = hints[each.name] if each.default is None else type(each.default)
        shown = each.metadata["shown"] or True
        option = typer.Option(help=each.metadata["help"], show_default=shown, rich_help_panel=kind.__name__)
        yield inspect.Parameter(
            each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=Annotated[typed, option]
        )


def _with_settings(command: F) -> F:
    """Give a command the fields of `Settings` and `Devices` as options."""
    signature = inspect.signature(command)
    *own, _ = signature.parameters.values()
    parameters = [*own, *_options(Settings), *_options(Devices)]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command


@_with_settings
def train(
    name: Annotated[str, typer.Argument(help="Model, such as transformer-tiny, local-dir:PATH or hf-hub:org/name.")],
    *,
    data: Annotated[
        str,
        typer.Option(
            help="Data source, such as reverse, folder:PATH, hf:NAME, csv:GLOB; or a path, whose format is guessed."
        ),
    ],
    out: Annotated[str, typer.Option(help="Run folder, for the model and its checkpoints.")],
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Resume the training in --out exactly."),
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Remove the training in --out first.")] = False,
    weights: Annotated[
        str | None, typer.Option(help="Start from these weights: a file, a folder, hf-hub:org/name.")
    ] = None,
    pretrained: Annotated[
        bool | None,
        typer.Option(
            "--pretrained/--no-pretrained",
            help="Start from the published weights. A folder or repository does so by default.",
            show_default=False,
        ),
    ] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE: override the model's configuration; repeatable.")
    ] = None,
    **settings: Any,
) -> None:
    """Train a model on data; Ctrl-C saves a checkpoint, and --resume continues from it."""
    from zoo.training.api import train as start

    command = shlex.join(["zoo", *(word for word in sys.argv[1:] if word not in ("--resume", "--overwrite"))])
    trained = start(
        name, data, out=out, resume=resume, overwrite=overwrite, weights=weights, pretrained=pretrained,
        progress=True, command=command, **settings, **overrides(sets or []),
    )  # fmt: skip
    if not trained.first:
        return
    from zoo.training.criterion import score_text

    outcome = trained.outcome
    if outcome.ended == "asked to":
        typer.echo(f"stopped after step {outcome.steps:,}; to resume:\n  {command} --resume", err=True)
        raise typer.Exit(STOPPED)
    if trained.was_finished:
        typer.echo(f"{out} holds this training, finished: its result is")
    why = f", no better for {trained.settings.patience} validations" if outcome.ended == "patience" else ""
    shown = [score_text(key, score) for key, score in trained.scores.items()]
    if trained.settings.probe:
        typer.echo(f"linear probe, {outcome.seconds:.1f} s; best on validation {outcome.best_by}")
    else:
        typer.echo(f"{counted(outcome.steps, 'step')}{why}; best at step {outcome.best_step:,}, {outcome.best_by}")
    typer.echo(("\n      " if len(shown) > 3 else "  ").join(["test:", *shown]) if shown else "no test examples")
    if not trained.was_finished:
        typer.echo(f"saved in {out}")


def overrides(pairs: list[str]) -> dict[str, Any]:
    """Read KEY=VALUE; a value that is JSON is read as such, any other is a text.

    Raises:
        ConfigError: If there is no equals sign, or a key is given twice.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not all(part.isidentifier() for part in key.split(".")):
            raise ConfigError(f"--set {pair!r}: write KEY=VALUE, such as --set depth=4")
        if key in found:
            raise ConfigError(f"--set {key} is given twice: {found[key]} and {value}")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found
