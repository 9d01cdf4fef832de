"""Show a study while it runs: a line for each point as soon as it is complete, a bar, the time left."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import mean
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from zoo.bench.learning_curve.results import score_of
from zoo.bench.learning_curve.run import Run
from zoo.bench.learning_curve.short_names import short_name
from zoo.names import counted

Advance = Callable[[Run, dict[str, Any]], None]


class NoProgress:
    """Show nothing."""

    def say(self, line: str) -> None:
        """Print a line for the user."""

    @contextmanager
    def tracking(self, runs: Sequence[Run], todo: Sequence[Run], workers: int | None) -> Iterator[Advance]:
        """Give a function to call with each finished run of those still to do.

        Args:
            runs: of the study.
            todo: those still to do.
            workers: how many run at a time; None where an executor of the user's decides.
        """
        yield lambda run, result: None


class Progress(NoProgress):
    """Show progress on a terminal, or line by line where there is none."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console()

    def say(self, line: str) -> None:
        """Print a line for the user."""
        self.console.print(line, style="yellow", markup=False)

    @contextmanager
    def tracking(self, runs: Sequence[Run], todo: Sequence[Run], workers: int | None) -> Iterator[Advance]:
        """Draw the bar until the block ends."""
        if not todo:
            done = "The run is done" if len(runs) == 1 else f"All {len(runs)} runs are done"
            self.console.print(f"{done} already; nothing is trained.")
            yield lambda run, result: None
            return
        done = f"; {len(runs) - len(todo)} done already" if len(todo) < len(runs) else ""
        pace = "" if workers is None else f", {max(1, workers)} at a time"
        self.console.print(f"{counted(len(todo), 'training')}{pace}{done}; the first takes a while to start.")
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("runs"),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
        )
        with Bar(*columns, console=self.console) as bar:
            task = bar.add_task("starting workers", total=len(runs), completed=len(runs) - len(todo))
            yield _Tracker(self.console, bar, task, todo, workers).done


class _Tracker:
    def __init__(self, console: Console, bar: Bar, task: TaskID, todo: Sequence[Run], workers: int | None) -> None:
        self.console, self.bar, self.task, self.workers = console, bar, task, workers
        self.left, self.begun, self.spent = list(todo), time.monotonic(), 0.0
        self.results: dict[tuple[str, int], list[float]] = {}
        self.pace: dict[str, list[float]] = {}
        self.metric = self.measure = "accuracy"

    def done(self, run: Run, result: dict[str, Any]) -> None:
        self.left.remove(run)
        if "error" in result:
            which = f"rate {run.learning_rate:g}" if run.pilot else f"seed {run.seed}"
            self.console.print(f"{_name(run)}, {which} failed: {result['error']}", style="red", markup=False)
        else:
            self.spent += result["seconds"]
            self.pace.setdefault(run.model, []).append(result["seconds"] / run.steps)
            self.metric = result.get("metric", self.metric)
            self.results.setdefault((run.model, run.size), []).append(score_of(result))
            self.measure = f"validation {self.metric}" if run.pilot else self.metric
        if not any((other.model, other.size) == (run.model, run.size) for other in self.left):
            self._point(run)
        self.bar.update(self.task, advance=1, description=self._time_left())

    def _point(self, run: Run) -> None:
        if found := self.results.get((run.model, run.size)):
            seeds = " ".join(f"{accuracy:.3f}" for accuracy in found)
            best = f"best {max(found):.3f}" if run.pilot else f"{mean(found):.3f}"
            self.console.print(f"{_name(run):<32} {self.measure} {best}   ({seeds})", highlight=False)

    def _time_left(self) -> str:
        """Estimate from the measured pace of each model; evaluation adds about a tenth."""
        known = [pace for paces in self.pace.values() for pace in paces]
        if not known:
            return ""
        seconds = sum(mean(self.pace.get(run.model, known)) * run.steps for run in self.left) * 1.1
        longest = max((mean(self.pace.get(run.model, known)) * run.steps for run in self.left), default=0.0)
        at_a_time = self.spent / (time.monotonic() - self.begun) if self.workers is None else self.workers
        minutes, rest = divmod(round(max(seconds / max(1, at_a_time), longest)), 60)
        return f"about {minutes}:{rest:02} left"


def _name(run: Run) -> str:
    return f"{run.size:>7,}  {short_name(run.model)}"
