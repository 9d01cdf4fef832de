"""The report of `zoo bench attention`: scores at equal steps and at equal seconds, costs, and what was left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from zoo.bench.attention.choice import chosen
from zoo.bench.decision.bootstrap import Interval, bootstrap_seeds, interval
from zoo.bench.grid.engine import Record
from zoo.bench.study.report import Cell, Report, ReportTable
from zoo.data.sequences.named import task_named

Key = tuple[str, str]
"""Task and mechanism."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """What a mechanism reached on a task.

    Args:
        runs: of the learning rate that validation chose, one for each seed.
        accuracy: test accuracy at the end.
        in_time: mean validation accuracy within the seconds of the cheapest mechanism; None where they are not
            measured, or end before the first look.
        cost: what a training step takes; None where it is not measured.
    """

    runs: Sequence[Record]
    accuracy: Interval
    in_time: float | None
    cost: Record | None


def report(records: Sequence[Record]) -> Report:
    """Make the report of the runs there are."""
    left_out = [record for record in records if "refused" in record]
    done = [record for record in records if "refused" not in record]
    found = scores(done)
    tables = [_scores(found), _lengths(found), _costs(found), _refused(left_out)]
    return Report(lines=[*_answers(found), *_cautions(found)], tables=[each for each in tables if each.rows])


def scores(records: Sequence[Record]) -> dict[Key, Score]:
    """Give what each mechanism reached on each task, in the order of the runs."""
    trained: dict[Key, list[Record]] = {}
    costs: dict[Key, Record] = {}
    for record in records:
        key = record["config"]["task"], record["config"]["mechanism"]
        if record["config"]["part"] == "cost":
            costs[key] = record
        else:
            trained.setdefault(key, []).append(record)
    return {key: _score(key, chosen(runs), costs) for key, runs in trained.items()}


def _score(key: Key, runs: Sequence[Record], costs: Mapping[Key, Record]) -> Score:
    reached = [trained_length(run) for run in runs]
    drawn = bootstrap_seeds(reached, np.random.default_rng(0))
    own = costs.get(key)
    rivals = [record["step"] for (task, _), record in costs.items() if task == key[0]]
    budget = min(rivals, default=0) * runs[0]["config"]["steps"]
    looks = [last_within(run["looks"], own["step"], budget) for run in runs] if own else [None]
    in_time = None if None in looks else fmean(each for each in looks if each is not None)
    return Score(runs=runs, accuracy=interval(fmean(reached), drawn), in_time=in_time, cost=own)


def trained_length(run: Record) -> float:
    """Give the test accuracy at the length of the training, which is the shortest."""
    return run["accuracy"][min(run["accuracy"], key=int)]


def last_within(looks: Sequence[Sequence[int | float]], step_seconds: float, budget: float) -> float | None:
    """Give the validation accuracy of the last look whose steps fit into the seconds; None if none does."""
    within = [accuracy for steps, accuracy in looks if steps * step_seconds <= budget * (1 + 1e-9)]
    return within[-1] if within else None


def _by_task(found: Mapping[Key, Score]) -> Iterator[tuple[str, dict[str, Score]]]:
    for task in dict.fromkeys(task for task, _ in found):
        yield task, {mechanism: score for (of, mechanism), score in found.items() if of == task}


def _answers(found: Mapping[Key, Score]) -> list[str]:
    """Tell for each task who is ahead at equal steps and at equal seconds, and who shows no more than a shortcut."""
    lines = []
    for task, of in _by_task(found):
        best = max(of.values(), key=lambda score: score.accuracy.value).accuracy
        ahead = [f"{name} ({each.accuracy})" for name, each in of.items() if each.accuracy.high >= best.low]
        way, level = max(task_named(task).shortcuts().items(), key=lambda item: item[1])
        none = [name for name, each in of.items() if each.accuracy.low <= level]
        if best.low <= level:
            lines.append(f"{task}: no mechanism is clearly above {level:.3f}, which {way} reaches.")
            continue
        told = f"{task}: ahead at equal steps: {', '.join(ahead)}"
        timed = {name: each.in_time for name, each in of.items() if each.in_time is not None}
        if timed:
            first = max(timed, key=lambda name: timed[name])
            told += f"; at equal seconds: {first} ({timed[first]:.3f})"
        lines.append(f"{told}." + (f" Not clearly above {way} ({level:.3f}): {', '.join(none)}." if none else ""))
    return lines


def _cautions(found: Mapping[Key, Score]) -> list[str]:
    """Say what the numbers do not tell."""
    alone = any(len(score.runs) == 1 for score in found.values())
    return ["One seed has no interval: give --seeds 3 or more before you believe a difference."] * alone


def _scores(found: Mapping[Key, Score]) -> ReportTable:
    rows: list[list[Cell]] = []
    for task, of in _by_task(found):
        for mechanism, score in of.items():
            accuracy, runs = score.accuracy, score.runs
            taken = fmean(run["looks"][-1][0] for run in runs)
            rate, size = runs[0]["config"]["learning_rate"], runs[0]["parameters"]
            levels = accuracy.value, accuracy.low, accuracy.high, score.in_time
            rows.append([task, mechanism, *levels, len(runs), taken, rate, size])
        shortcuts = task_named(task).shortcuts().items()
        rows += [[task, f"({way})", level, *[None] * 7] for way, level in shortcuts]
    columns = [
        "task",
        "mechanism",
        "accuracy",
        "low",
        "high",
        "at equal seconds",
        "seeds",
        "steps",
        "rate",
        "parameters",
    ]
    title = (
        "Test accuracy at equal steps with 95 % intervals, validation accuracy at equal seconds; shortcuts in brackets"
    )
    return ReportTable(name="scores", title=title, columns=columns, rows=rows)


def _lengths(found: Mapping[Key, Score]) -> ReportTable:
    rows: list[list[Cell]] = []
    for (task, mechanism), score in found.items():
        lengths = sorted(score.runs[0]["accuracy"], key=int)
        means = [fmean(run["accuracy"][length] for run in score.runs) for length in lengths]
        if len(lengths) > 1:
            rows += [[task, mechanism, int(length), mean] for length, mean in zip(lengths, means, strict=True)]
    columns = ["task", "mechanism", "length", "accuracy"]
    return ReportTable(name="lengths", title="Tested at greater lengths than trained at", columns=columns, rows=rows)


def _costs(found: Mapping[Key, Score]) -> ReportTable:
    rows: list[list[Cell]] = [
        [task, mechanism, 1000 * score.cost["step"], score.cost["bytes"] / 1e6]
        for (task, mechanism), score in found.items()
        if score.cost
    ]
    columns = ["task", "mechanism", "training step, ms", "memory of a step, MB"]
    return ReportTable(name="costs", title="What a training step takes", columns=columns, rows=rows)


def _refused(records: Sequence[Record]) -> ReportTable:
    rows = dict.fromkeys((r["config"]["task"], r["config"]["mechanism"], r["refused"]) for r in records)
    columns = ["task", "mechanism", "reason"]
    return ReportTable(name="left-out", title="Left out", columns=columns, rows=[list(row) for row in rows])
