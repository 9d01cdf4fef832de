"""Arguments that commands share: the checkpoint, the device, inputs and the output file."""

import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from zoo.errors import ConfigError, InputError

CHECKPOINT = "Folder that `zoo train` wrote, hf-hub:org/name, or a model with published weights."
Checkpoint = Annotated[str, typer.Argument(help=CHECKPOINT)]
Model = Annotated[str, typer.Option(help=CHECKPOINT, show_default=False)]
Device = Annotated[str, typer.Option(help="Device of the model: cpu, cuda, cuda:1, …")]
Int8 = Annotated[
    bool, typer.Option("--int8", help="Compute with int8 weights: on CPUs in a fraction of the time and memory.")
]
ReadWorkers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=0,
        help="Processes that read files ahead; 0 for none.",
        show_default="half of the processors, all with a GPU, at most 8",
    ),
]


class Undecoded(str):
    """A line that is no UTF-8: what can be read of it, for messages.

    Args:
        line: as it came.
        fault: where it is no UTF-8.
    """

    fault: str

    def __new__(cls, line: bytes, fault: str) -> "Undecoded":
        found = super().__new__(cls, line.decode("utf-8", errors="replace"))
        found.fault = fault
        return found


def read_inputs(texts: list[str] | None, file: str | None) -> list[str]:
    """Return the inputs of a command: its arguments, or the lines of a file or of standard input (`-`; default).

    Raises:
        ConfigError: If both are given.
        InputError: If there are no inputs, or they are not UTF-8.
    """
    return list(stream_inputs(texts, file))


def stream_inputs(texts: list[str] | None, file: str | None, undecoded: bool = False) -> Iterable[str]:
    """Give the inputs as `read_inputs` does, lines as they are read; those of a file can be iterated again.

    Args:
        texts: arguments of the command.
        file: whose lines are read.
        undecoded: give a line of standard input that is no UTF-8 as `Undecoded`, for a caller that skips it.

    Raises:
        ConfigError: If both are given.
        InputError: If there are no inputs, or they are not UTF-8; of lines, while they are read.
    """
    if texts and file:
        raise ConfigError(f"texts and --file {file!r}: give one of them")
    if texts:
        return texts
    if file is None or file == "-":
        if sys.stdin.isatty():
            raise InputError("no input: give it as an argument, with --file, or through a pipe")
        return _lines(sys.stdin.buffer, "what is piped in", undecoded)
    return _File(file)


class _File:
    """Lines of a file.

    Args:
        name: of the file.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __iter__(self) -> Iterator[str]:
        """Give the lines, read anew."""
        try:
            with Path(self.name).expanduser().open("rb") as file:
                yield from _lines(file, repr(self.name))
        except OSError as error:
            raise InputError(f"--file {self.name!r} cannot be read: {error}") from error


def _lines(file: Iterable[bytes], where: str, undecoded: bool = False) -> Iterator[str]:
    empty = True
    for number, line in enumerate((line for chunk in file for line in chunk.splitlines()), start=1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            fault = f"{where}, line {number}: no UTF-8 at byte {error.start + 1}"
            if not undecoded:
                raise InputError(fault) from error
            text = Undecoded(line, fault)
        empty = empty and not text.strip()
        yield text
    if empty:
        raise InputError(f"{where} holds no text")


def check_not_empty(texts: Iterable[str]) -> Iterable[str]:
    """Check that no text is empty, before any is used; of an iterator, each as it is read. Give the texts.

    Raises:
        InputError: If one is; the error says which.
    """
    checked = _not_empty(texts)
    if isinstance(texts, Iterator):
        return checked
    deque(checked, maxlen=0)
    return texts


def _not_empty(texts: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            raise InputError(f"text {number} is {text!r}: there is nothing to read")
        yield text


def check_out(out: Path, endings: Sequence[str], option: str = "--out") -> None:
    """Check that a file can be written, before anything is computed.

    Args:
        out: value of the option.
        endings: supported file extensions.
        option: that names the file.

    Raises:
        ConfigError: If its ending is none of them, or there is no such folder.
    """
    if out.suffix.lower() not in endings:
        raise ConfigError(f"{option} {str(out)!r}: its ending is none of {', '.join(endings)}")
    if not out.parent.is_dir():
        raise ConfigError(f"{option} {str(out)!r}: there is no folder {str(out.parent)!r}")
