"""What data are read for: to learn from them, which has rules such as two examples of each label, or to judge a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_TRAINING = ContextVar("training", default=True)


def for_training() -> bool:
    """Tell whether data that are opened now are learned from.

    Data that a finished run is judged on need neither several labels, nor several examples of each, nor a part for
    each purpose.
    """
    return _TRAINING.get()


@contextmanager
def to_judge() -> Iterator[None]:
    """Open data that a run is judged on, within the block."""
    token = _TRAINING.set(False)
    try:
        yield
    finally:
        _TRAINING.reset(token)
