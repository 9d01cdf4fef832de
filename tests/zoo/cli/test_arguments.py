"""Arguments that commands share: `--int8` of every command that answers. The others are tests of the commands."""

from collections.abc import Callable
from typing import Any

import pytest
from typer.main import get_command

from zoo.cli.app import build
from zoo.errors import ConfigError
from zoo.pipeline import Pipeline

Run = Callable[..., tuple[int, str, str]]
ANSWERING = {
    "chat": ("some",),
    "evaluate": ("some",),
    "generate": ("some", "a text"),
    "predict": ("some", "a text"),
    "say": ("a text", "--model", "some"),
    "serve": ("some", "--port", "0"),
    "transcribe": ("a.wav", "--model", "some"),
}


def test_every_command_that_answers_takes_int8_and_export_has_its_own() -> None:
    root: Any = get_command(build())
    taking = {name for name, command in root.commands.items() if any(part.name == "int8" for part in command.params)}
    assert taking == {*ANSWERING, "export"}


@pytest.mark.parametrize("command", ANSWERING)
def test_int8_reaches_the_model(command: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def begun(self: Pipeline, *_: object, int8: bool = False, **__: object) -> None:
        seen.append(int8)
        raise ConfigError("that is enough")

    monkeypatch.setattr(Pipeline, "__init__", begun)
    for options in ((), ("--int8",)):
        code, _, told = run(command, *ANSWERING[command], *options, piped=b"a text\n")
        assert (code, "that is enough" in told) == (2, True), told
    assert seen == [False, True]
