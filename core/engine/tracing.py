"""Tracing of `attend`: which plans are followed and what they cost; and rows kept separate for attention maps."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_row_by_row = ContextVar("kept_apart", default=False)
_watchers: list[Callable[[Any, Any], None]] = []


def watched() -> bool:
    """Return whether any watcher is registered."""
    return bool(_watchers)


def tell(plan: Any, problem: Any) -> None:
    """Call the watchers with a plan that is about to run."""
    for watcher in _watchers:
        watcher(plan, problem)


@contextmanager
def watch(watcher: Callable[[Any, Any], None]) -> Iterator[None]:
    """Call `watcher(plan, problem)` at each attention until the block ends."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def row_by_row() -> bool:
    """Return whether attention maps need each row as it was given, padding included."""
    return _row_by_row.get()


@contextmanager
def rows_apart() -> Iterator[None]:
    """Let models read rows as they are given until the block ends, and not packed into one."""
    token = _row_by_row.set(True)
    try:
        yield
    finally:
        _row_by_row.reset(token)
