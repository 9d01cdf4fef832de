"""Word that a command imports its libraries, where that takes long: after an installation they are compiled first."""

import sys
import threading
from collections.abc import Iterator
from types import FrameType

import typer

SECONDS = 2.0
"""Silence that a user bears."""


def tell_if_slow(seconds: float = SECONDS) -> None:
    """Say on a terminal that libraries are imported, if that is what the program does after some seconds."""
    if sys.stderr is not None and sys.stderr.isatty():
        timer = threading.Timer(seconds, _tell)
        timer.daemon = True
        timer.start()


def _tell() -> None:
    main = threading.main_thread().ident
    if any(frame.f_code.co_filename.startswith("<frozen importlib") for frame in _frames(main)):
        typer.echo("importing libraries; the first time after an installation takes a minute or two", err=True)


def _frames(thread: int | None) -> Iterator[FrameType]:
    """Give what a thread is at, from the inside; nothing public tells it."""
    frame = sys._current_frames().get(thread or 0)
    while frame is not None:
        yield frame
        frame = frame.f_back
