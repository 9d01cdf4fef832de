"""Stopping on SIGINT (Ctrl-C) and SIGTERM (cluster schedulers): after the step, with a checkpoint."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

from zoo.training.callbacks.callback import Callback, Request

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopOnSignal(Callback):
    """Request the end of a training once a signal has come; a second one ends at once. A context manager."""

    def __init__(self) -> None:
        self.stop_requested = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "StopOnSignal":
        if threading.current_thread() is threading.main_thread():  # Python lets no other take signals
            self._before = {each: signal.signal(each, self._take) for each in SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)

    def request(self) -> Request:
        """Request a checkpoint and the end, once a signal has come."""
        return Request(self.stop_requested, self.stop_requested)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.stop_requested:
            raise KeyboardInterrupt
        self.stop_requested = True
