"""Arguments that commands share: the checkpoint, the device, inputs and the output file."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from zoo.errors import ConfigError, InputError

CHECKPOINT = "Folder that `zoo train` wrote, hf-hub:org/name, or a model with published weights."
Checkpoint = Annotated[str, typer.Argument(help=CHECKPOINT)]
Model = Annotated[str, typer.Option(help=CHECKPOINT, show_default=False)]
Device = Annotated[str, typer.Option(help="Device of the model: cpu, cuda, cuda:1, …")]


def read_inputs(texts: list[str] | None, file: str | None) -> list[str]:
    """Return the inputs of a command: its arguments, or the lines of a file or of standard input (`-`; default).

    Raises:
        ConfigError: If both are given.
        InputError: If there are no inputs, or they are not UTF-8.
    """
    if texts and file:
        raise ConfigError(f"texts and --file {file!r}: give one of them")
    if texts:
        return texts
    if file in (None, "-"):
        if sys.stdin.isatty():
            raise InputError("no input: give it as an argument, with --file, or through a pipe")
        data, where = sys.stdin.buffer.read(), "what is piped in"
    else:
        assert file is not None
        try:
            data, where = Path(file).expanduser().read_bytes(), repr(file)
        except OSError as error:
            raise InputError(f"--file {file!r} cannot be read: {error}") from error
    return _lines(data, where)


def _lines(data: bytes, where: str) -> list[str]:
    lines = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            lines.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise InputError(f"{where}, line {number}: no UTF-8 at byte {error.start + 1}") from error
    if not any(line.strip() for line in lines):
        raise InputError(f"{where} holds no text")
    return lines


def check_not_empty(texts: list[str]) -> None:
    """Check that no text is empty.

    Raises:
        InputError: If one is; the error says which.
    """
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            raise InputError(f"text {number} is {text!r}: there is nothing to read")


def check_out(out: Path, endings: Sequence[str]) -> None:
    """Check that a file can be written, before anything is computed.

    Args:
        out: value of `--out`.
        endings: supported file extensions.

    Raises:
        ConfigError: If its ending is none of them, or there is no such folder.
    """
    if out.suffix.lower() not in endings:
        raise ConfigError(f"--out {str(out)!r}: its ending is none of {', '.join(endings)}")
    if not out.parent.is_dir():
        raise ConfigError(f"--out {str(out)!r}: there is no folder {str(out.parent)!r}")
