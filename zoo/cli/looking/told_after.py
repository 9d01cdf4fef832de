"""Word of what a command does, where it takes long."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Timer

import typer

PATIENCE = 2.0
"""Seconds after which what is not ready is told of."""


@contextmanager
def told_after(text: str) -> Iterator[None]:
    """Say on standard error what is done, once it has taken `PATIENCE`."""
    timer = Timer(PATIENCE, partial(typer.echo, text, err=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
