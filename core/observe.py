"""Watch which plans `attend` follows, and what they cost: for counters and for people who want to know."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_watchers: list[Callable[[Any, Any], None]] = []


def watched() -> bool:
    """Tell whether anybody watches."""
    return bool(_watchers)


def tell(plan: Any, problem: Any) -> None:
    """Report that a plan is about to be followed."""
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
