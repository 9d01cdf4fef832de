"""Observers of a search: who wants to see which answers beam search follows, step by step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from jaxtyping import Float, Int
from torch import Tensor

Observer = Callable[[Int[Tensor, "b w t"], Float[Tensor, "b w"]], None]
"""Sees the tokens of the unfinished answers of each row, and their log-probabilities, -∞ for none."""

_observer: ContextVar[Observer | None] = ContextVar("observer_of_search", default=None)


def tell(ids: Int[Tensor, "b w t"], running: Float[Tensor, "b w"]) -> None:
    """Show a step of a search to the observer, if there is one."""
    observer = _observer.get()
    if observer is not None:
        observer(ids, running)


@contextmanager
def observe(observer: Observer) -> Iterator[None]:
    """Let an observer see each step of the searches until the block ends."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)
