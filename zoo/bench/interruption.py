"""`resumable`: the end of a command whose results are kept when Ctrl-C stops it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console


@contextmanager
def resumable(folder: Path, console: Console) -> Iterator[None]:
    """End a command that Ctrl-C stops with code 130, and say that its results are kept."""
    try:
        yield
    except KeyboardInterrupt:
        console.print(f"Stopped. Finished runs are in {folder}: the same command goes on from there.")
        raise typer.Exit(130) from None
