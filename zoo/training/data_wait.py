"""`DataWait`: how long the device of a training waits for its batches."""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class DataWait:
    """Measures the time in which a device has nothing to do because a batch is fetched.

    A processor waits as long as the fetch takes. A GPU may have steps left to compute meanwhile: its wait is the time
    from the end of one step to the begin of the next by its own clock (CUDA events), at most that of the fetch. It is
    known when the device has come so far, so that nothing is waited for to measure it.

    Args:
        device: of the training.
    """

    def __init__(self, device: torch.device) -> None:
        self.on_cuda = device.type == "cuda"
        self._known = 0.0
        self._ended: torch.cuda.Event | None = None
        self._open: deque[tuple[torch.cuda.Event, torch.cuda.Event, float]] = deque()

    @contextmanager
    def fetching(self) -> Iterator[None]:
        """Measure the fetch of a step's batches."""
        started = time.perf_counter()
        yield
        seconds = time.perf_counter() - started
        if self._ended is None:
            self._known += seconds
        else:
            self._open.append((self._ended, _now(), seconds))

    def computed(self) -> None:
        """Note that all of a step is under way."""
        if self.on_cuda:
            self._ended = _now()

    def take(self) -> float:
        """Return the seconds of waiting that have become known since the last call."""
        while self._open and self._open[0][1].query():
            ended, begun, seconds = self._open.popleft()
            self._known += min(seconds, ended.elapsed_time(begun) / 1000)
        known, self._known = self._known, 0.0
        return known


def _now() -> torch.cuda.Event:
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event
