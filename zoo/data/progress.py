"""Progress bar for iterations that take long."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress

Item = TypeVar("Item")
PATIENCE = 2.0
"""Seconds in which nothing is shown."""


def shown(
    items: Iterable[Item],
    total: int,
    what: str,
    console: Console | None = None,
    size: Callable[[Item], float] = lambda item: 1,
) -> Iterator[Item]:
    """Give items as they come, behind a bar where they take long; a line where there is no terminal.

    Args:
        items: one by one.
        total: how many there will be.
        what: is being done.
        console: where to; standard error if None.
        size: how much of the total an item is.
    """
    console = console or Console(stderr=True)
    begun, source = time.monotonic(), iter(items)
    done = 0.0
    for item in source:
        yield item
        done += size(item)
        if time.monotonic() - begun >= PATIENCE:
            break
    else:
        return
    if not console.is_terminal:
        console.print(f"{what}: {total:,} in all …", markup=False, highlight=False)
        yield from source
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(what, total=total, completed=int(done))
        for item in source:
            yield item
            bar.advance(task, size(item))
