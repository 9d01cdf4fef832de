"""`WarnOfDataWait`: one warning where a training waits too much for its data."""

import warnings

from torch import Tensor

from zoo.training.callbacks.callback import Callback
from zoo.training.resume.train_state import Outcome

SHARE = 0.2
"""Share of the time from which on it is too much."""
_BEGIN, _STEPS, _SECONDS = 10, 50, 5.0
"""Steps that are not counted, in which workers start and files are read for the first time; steps and seconds that have
to be counted before anything is said."""


class WarnOfDataWait(Callback):
    """Warn once where more than a fifth of the time is waiting for data, and name what helps.

    Args:
        workers: that read ahead.
        processors: that could do so.
        cacheable: whether `--cache` would keep the data as they are after decoding.
    """

    def __init__(self, workers: int, processors: int, cacheable: bool = False) -> None:
        self.workers, self.processors, self.cacheable = workers, processors, cacheable
        self.count = 0
        self.warned = False

    def on_start(self, outcome: Outcome) -> None:
        """Hold the outcome, which grows."""
        self.outcome = outcome

    def on_step(self, step: int, loss: Tensor) -> None:
        """Look at the time after each step."""
        self.count += 1
        if self.count <= _BEGIN:
            self.seconds, self.waiting = self.outcome.seconds, self.outcome.waiting
            return
        seconds, waiting = self.outcome.seconds - self.seconds, self.outcome.waiting - self.waiting
        if self.warned or self.count < _BEGIN + _STEPS or seconds < _SECONDS or waiting <= SHARE * seconds:
            return
        self.warned = True
        share = f"{waiting / seconds:.0%}"
        warnings.warn(f"{share} of the training's time is waiting for data: {self.remedy()}", stacklevel=2)

    def remedy(self) -> str:
        """Say what helps: more workers as long as there are processors for them, a cache where the source has one."""
        remedies = []
        if self.workers < self.processors:
            remedies.append(f"--workers {self.processors} prepares more of them ahead")
        if self.cacheable:
            remedies.append("--cache keeps them decoded")
        return f"workers={self.workers}; {', '.join(remedies) or 'smaller inputs or more processors would help'}"
