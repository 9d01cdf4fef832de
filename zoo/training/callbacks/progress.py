"""Progress of a training: a bar with step, loss, score and time left, and a line for each validation."""

import time
from itertools import islice
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from torch import Tensor

from zoo.training.callbacks.callback import Callback
from zoo.training.criterion import score_text
from zoo.training.resume.train_state import Outcome

_PAUSE = 0.5
"""Seconds between two reads of the loss, which make an accelerator wait."""
_SHOWN = 3
"""Scores in a line, those first that choose the best checkpoint."""
_WAIT, _LONG = 0.05, 2.0
"""Share of the time spent waiting for data, and seconds of training, from which on the share is shown."""


class ProgressDisplay(Callback):
    """Progress bar on a terminal, lines elsewhere; a context manager.

    Args:
        steps: of the training.
        resume: whether `--resume` was given.
        console: where it is printed.
    """

    def __init__(self, steps: int, resume: bool = False, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)
        self.steps, self.resume = steps, resume
        columns = (
            TextColumn("step"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"),
            TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
        )  # fmt: skip
        self.bar = Progress(*columns, console=self.console)
        self.task = self.bar.add_task("", total=steps)
        self.seen = 0.0
        self.score = ""
        self.outcome = Outcome()

    def __enter__(self) -> "ProgressDisplay":
        if self.console.is_terminal:
            self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.console.is_terminal:
            self.bar.stop()

    def on_start(self, outcome: Outcome) -> None:
        """Print where a training is resumed."""
        self.outcome = outcome
        if outcome.steps:
            self.console.print(f"resumed after step {outcome.steps:,} of {self.steps:,}")
            self.bar.update(self.task, completed=outcome.steps)
        elif self.resume:
            self.console.print("no checkpoint to resume from yet: starting at step 0")

    def on_step(self, step: int, loss: Tensor) -> None:
        """Move the bar, now and then."""
        now = time.monotonic()
        if now - self.seen >= _PAUSE or step == self.steps:
            self.seen = now
            shown = f"training loss {float(loss):.4f}  {self.score}{self._wait()}"
            self.bar.update(self.task, completed=step, description=shown)

    def on_validation(self, outcome: Outcome) -> None:
        """Write a line."""
        last = outcome.history[-1]
        shown = [score_text(name, score) for name, score in islice(outcome.criterion.shown(last.scores), _SHOWN)]
        scores = f"  validation {'  '.join(shown)}" if shown else ""
        self.score = f"validation {shown[0]}" if shown else ""
        best = "  best so far" if outcome.best_step == last.step else ""
        line = f"step {last.step:>7,}  training loss {last.loss:.4f}{scores}{self._wait()}{best}"
        self.console.print(line, markup=False, soft_wrap=True)

    def _wait(self) -> str:
        """Tell how much of the time so far the training waited for data, where that is worth a word."""
        share = self.outcome.waiting_share
        return f"  data wait {share:.0%}" if share >= _WAIT and self.outcome.seconds >= _LONG else ""
