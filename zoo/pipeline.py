"""From the name of a checkpoint to its model, and the inputs of a command: for `generate`, `predict` and the like."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from zoo.errors import ConfigError, InputError, UnknownModelError, WeightsError
from zoo.factory import create as build
from zoo.weights import hub

Checkpoint = Annotated[
    str, typer.Argument(help="Folder that `zoo train` wrote, hf-hub:org/name, or a model with published weights.")
]
Device = Annotated[str, typer.Option(help="Where the model computes: cpu, cuda.")]


def reference(text: str) -> str:
    """Give the name by which `zoo.create` finds a checkpoint.

    Raises:
        WeightsError: If a path holds no checkpoint.
    """
    if hub.is_repository(text):
        return text
    path = Path(text).expanduser()
    if path.is_dir():
        if not (path / "config.json").exists():
            made = (
                " (its training has not come to the first validation yet)" if (path / "training.json").exists() else ""
            )
            raise WeightsError(
                f"{text!r} holds no checkpoint: there is no config.json{made}; zoo train --out makes one"
            )
        return f"local-dir:{text}"
    if path.exists():
        raise WeightsError(f"{text!r} is a file: give the folder that holds config.json and model.safetensors")
    if "/" in text or text.startswith((".", "~")):
        raise WeightsError(f"there is no folder {text!r}")
    try:
        build.info(text)
    except UnknownModelError as error:
        raise UnknownModelError(f"There is no folder {text!r}, and no model.\n{error}") from error
    return text


def load(name: str, device: str) -> Any:
    """Make the model with its weights, in evaluation."""
    return build.create(name, pretrained=True, device=device).eval()


def given(texts: list[str] | None, file: str | None) -> list[str]:
    """Give the inputs: arguments, the lines of a file (`-` is what is piped in), or what is piped in.

    Raises:
        InputError: If there are none, or they are no UTF-8.
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


def refuse_empty(texts: list[str]) -> None:
    """Refuse texts of which there is nothing to read.

    Raises:
        InputError: If one is empty; the text says which.
    """
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            raise InputError(f"text {number} is {text!r}: there is nothing to read")


def refuse_out(out: Path, endings: Sequence[str]) -> None:
    """Refuse a file that cannot be written, before anything is computed.

    Args:
        out: as `--out` named it.
        endings: those there are.

    Raises:
        ConfigError: If its ending is none of them, or there is no such folder.
    """
    if out.suffix.lower() not in endings:
        raise ConfigError(f"--out {str(out)!r}: its ending is none of {', '.join(endings)}")
    if not out.parent.is_dir():
        raise ConfigError(f"--out {str(out)!r}: there is no folder {str(out.parent)!r}")
