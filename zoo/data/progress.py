"""Progress bar for iterations that take long."""

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import track

Item = TypeVar("Item")
PATIENCE = 2.0
"""Seconds in which nothing is shown."""


def shown(items: Iterable[Item], total: int, what: str, console: Console | None = None) -> Iterator[Item]:
    """Give items as they come, behind a bar where they take long; a line where there is no terminal.

    Args:
        items: one by one.
        total: how many there will be.
        what: is being done.
        console: where to; standard error if None.
    """
    console = console or Console(stderr=True)
    begun, source = time.monotonic(), iter(items)
    done = 0
    for item in source:
        yield item
        done += 1
        if time.monotonic() - begun >= PATIENCE:
            break
    else:
        return
    if not console.is_terminal:
        console.print(f"{what}: {total:,} in all …", markup=False, highlight=False)
        yield from source
        return
    yield from track(source, what, total=total, completed=done, console=console, transient=True)
