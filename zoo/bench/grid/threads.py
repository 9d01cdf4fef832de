"""Threads of a run: they decide the order of its sums, and so its numbers, and are part of its key."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from zoo.errors import ConfigError

VARIABLE = "OMP_NUM_THREADS"
DEFAULT = 1
"""Threads of a run where nothing says otherwise: small models gain more from a worker for each core."""


def choose_threads(records: Iterable[Mapping[str, Any]]) -> int:
    """Choose the threads of a study's runs: `OMP_NUM_THREADS`, else those of the results there are, else one.

    Args:
        records: results that the folder of the study holds.

    Raises:
        ConfigError: If the variable is set and not a number of threads.
    """
    if asked := os.environ.get(VARIABLE, "").strip():
        return _parse(asked)
    found = Counter(threads_of(record) for record in records if "error" not in record and "threads" in record)
    return found.most_common(1)[0][0] if found else DEFAULT


def threads_of(record: Mapping[str, Any]) -> int:
    """Give the threads that computed a stored result; those of old records that do not tell are the default."""
    threads = record.get("threads", DEFAULT)
    return threads if isinstance(threads, int) else DEFAULT


@contextmanager
def limited_threads(count: int) -> Iterator[None]:
    """Compute on so many threads until the block ends: those of PyTorch, OpenMP and NumPy's BLAS."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(count), torch_threads(count):
        yield


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Compute on so many threads of PyTorch until the block ends."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _parse(text: str) -> int:
    first = text.partition(",")[0].strip()  # the others are for nested regions, of which there are none
    if not first.isdecimal() or int(first) < 1:
        raise ConfigError(
            f"{VARIABLE}={text!r} is not a number of threads, which decides what the runs compute: set it to 1 or "
            "more, or unset it"
        )
    return int(first)
