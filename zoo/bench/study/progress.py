"""Show the runs of a study while they are computed: a bar, each failure, the time left."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from zoo.bench.grid.task import Config, Result
from zoo.names import counted

Advance = Callable[[Config, Result], None]
Tracker = Callable[[Config, Result], str]
"""Tells of a finished run, and gives what stands behind the bar."""


class NoProgress:
    """Show nothing."""

    unit = "run"
    """What a run of the study is called."""

    def say(self, line: str) -> None:
        """Print a line for the user."""

    @contextmanager
    def tracking(self, runs: Sequence[Config], todo: Sequence[Config], workers: int | None) -> Iterator[Advance]:
        """Give a function to call with each finished run of those still to do.

        Args:
            runs: of the study.
            todo: those still to do.
            workers: how many run at a time; None where an executor of the user's decides.
        """
        yield lambda config, result: None


class Progress(NoProgress):
    """Show progress on a terminal, or line by line where there is none."""

    def __init__(self, console: Console | None = None, unit: str = "run") -> None:
        self.console, self.unit = console or Console(), unit

    def say(self, line: str) -> None:
        """Print a line for the user."""
        self.console.print(line, style="yellow", markup=False)

    def tracker(self, todo: Sequence[Config], workers: int | None) -> Tracker:
        """Make what tells of each finished run: here of failed ones, and the time left, as if all take equally long."""
        begun, left = time.monotonic(), len(todo)
        differ = [key for key in (todo[0] if todo else ()) if len({str(config.get(key)) for config in todo}) > 1]

        def tell(config: Config, result: Result) -> str:
            nonlocal left
            left -= 1
            if "error" in result:
                which = ", ".join(f"{key}={config.get(key)}" for key in differ or config)
                self.console.print(f"failed: {result['error']} ({which})", style="red", markup=False, soft_wrap=True)
            return time_left((time.monotonic() - begun) / (len(todo) - left) * left)

        return tell

    @contextmanager
    def tracking(self, runs: Sequence[Config], todo: Sequence[Config], workers: int | None) -> Iterator[Advance]:
        """Draw the bar until the block ends."""
        if not todo:
            done = f"The {self.unit} is done" if len(runs) == 1 else f"All {counted(len(runs), self.unit)} are done"
            self.console.print(f"{done} already.")
            yield lambda config, result: None
            return
        done = f"; {len(runs) - len(todo)} done already" if len(todo) < len(runs) else ""
        pace = "" if workers is None else f", {max(1, workers)} at a time"
        self.console.print(f"{counted(len(todo), self.unit)}{pace}{done}; the first takes a while to start.")
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(f"{self.unit}s"),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
        )
        with Bar(*columns, console=self.console) as bar:
            task = bar.add_task("", total=len(runs), completed=len(runs) - len(todo))
            tell = self.tracker(todo, workers)
            yield lambda config, result: bar.update(task, advance=1, description=tell(config, result))


def time_left(seconds: float) -> str:
    """Write an estimate: `about 1:05 left`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"about {minutes}:{rest:02} left"
