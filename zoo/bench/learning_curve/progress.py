"""Show a study while it runs: a line for each point as soon as it is complete, a bar, the time left."""

import time
from collections.abc import Sequence
from statistics import mean
from typing import Any

from rich.console import Console

from zoo.bench.grid.task import Config
from zoo.bench.learning_curve.results.entries import score_of
from zoo.bench.learning_curve.results.short_names import short_name
from zoo.bench.learning_curve.training.run import Run
from zoo.bench.study.progress import NoProgress as NoProgress
from zoo.bench.study.progress import Progress as StudyProgress
from zoo.bench.study.progress import Tracker, time_left


class Progress(StudyProgress):
    """Show progress on a terminal, or line by line where there is none."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console, "training")

    def tracker(self, todo: Sequence[Config], workers: int | None) -> Tracker:
        """Make what prints each point, and estimates the time left from the pace of each model."""
        tracker = _Tracker(self.console, [Run(**config) for config in todo], workers)
        return lambda config, result: tracker.done(Run(**config), result)


class _Tracker:
    def __init__(self, console: Console, todo: Sequence[Run], workers: int | None) -> None:
        self.console, self.workers = console, workers
        self.left, self.begun, self.spent = list(todo), time.monotonic(), 0.0
        self.results: dict[tuple[str, int], list[float]] = {}
        self.pace: dict[str, list[float]] = {}
        self.metric = self.measure = "accuracy"

    def done(self, run: Run, result: dict[str, Any]) -> str:
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
        return self._time_left()

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
        return time_left(max(seconds / max(1, at_a_time), longest))


def _name(run: Run) -> str:
    return f"{run.size:>7,}  {short_name(run.model)}"
