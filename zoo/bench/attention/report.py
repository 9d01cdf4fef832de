"""The report of `zoo bench attention`: scores at equal steps and at equal seconds, costs, and what was left out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from zoo.bench.attention.choice import chosen
from zoo.bench.attention.facts import ABILITIES, abilities_of
from zoo.bench.attention.figures import Point, draw_front, draw_lengths, draw_speed, draw_state
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
    trained = [record for record in done if record["config"]["part"] != "untrained"]
    untrained = [record for record in done if record["config"]["part"] == "untrained"]
    found = scores([record for record in trained if "self_pretrain" not in record["config"]])
    pretrained = scores([record for record in trained if "self_pretrain" in record["config"]])
    compared = dict.fromkeys(record["config"]["mechanism"] for record in records)
    tables = [
        _scores(found),
        _bits(found),
        _pretrained(found, pretrained),
        _lengths(found),
        _costs(found),
        _untrained(untrained),
        _able(compared),
        _refused(left_out),
    ]
    return Report(
        lines=[*_answers(found), *_cautions(found)],
        tables=[each for each in tables if each.rows],
        figures=_figures(found, untrained),
    )


def _figures(found: "Mapping[Key, Score]", untrained: Sequence[Record]) -> dict[str, Figure]:
    points = [_point(key, score, score.cost) for key, score in found.items() if score.cost]
    drawn: dict[str, Figure | None] = {}
    if points:
        drawn = {"speed": draw_speed(points), "front": draw_front(points), "state": draw_state(points)}
    if untrained:
        drawn["length"] = draw_lengths(untrained)
    return {name: figure for name, figure in drawn.items() if figure}


def _point(key: Key, score: "Score", cost: Record) -> Point:
    return Point(
        task=key[0],
        mechanism=key[1],
        score=score.accuracy.value,
        low=score.accuracy.low,
        high=score.accuracy.high,
        step=cost["step"],
        steps=fmean(run["looks"][-1][0] for run in score.runs),
        memory=cost["bytes"],
        state=cost.get("state"),
    )


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


def shortcuts(task: str, of: Mapping[str, Score]) -> Mapping[str, float]:
    """Give what can be reached on a task without solving it; of the user's data, as the runs found it."""
    stored: Record = next(iter(of.values())).runs[0]
    known: Mapping[str, float] = stored["shortcuts"] if "shortcuts" in stored else task_named(task).shortcuts()
    return known


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
        way, level = max(shortcuts(task, of).items(), key=lambda item: item[1])
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
        rows += [[task, f"({way})", level, *[None] * 7] for way, level in shortcuts(task, of).items()]
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


def _bits(found: Mapping[Key, Score]) -> ReportTable:
    rows: list[list[Cell]] = []
    for task, of in _by_task(found):
        told = {name: fmean(run["bits"] for run in each.runs) for name, each in of.items() if "bits" in each.runs[0]}
        if told:
            counted = next(iter(of.values())).runs[0]["shortcut_bits"]
            rows += [[task, name, value] for name, value in told.items()]
            rows += [[task, f"({name})", value] for name, value in counted.items()]
    title = "Bits that a character of the test takes; what counting reaches in brackets"
    return ReportTable(name="bits", title=title, columns=["task", "mechanism", "bits a character"], rows=rows)


def _pretrained(found: Mapping[Key, Score], pretrained: Mapping[Key, Score]) -> ReportTable:
    rows: list[list[Cell]] = []
    for key, scratch in found.items():
        if key in pretrained:
            rows.append([*key, *_reached(scratch), *_reached(pretrained[key])])
    columns = ["task", "mechanism", "from scratch", "interval", "steps", "self-pretrained", "its interval", "its steps"]
    title = "Test accuracy from scratch and after self-pretraining, and the steps that the training with answers took"
    return ReportTable(name="self-pretrained", title=title, columns=columns, rows=rows)


def _reached(score: Score) -> list[Cell]:
    taken = fmean(run["looks"][-1][0] for run in score.runs)
    return [score.accuracy.value, f"{score.accuracy.low:.3f} to {score.accuracy.high:.3f}", taken]


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
        [task, mechanism, 1000 * score.cost["step"], score.cost["bytes"] / 1e6, _kilobytes(score.cost.get("state"))]
        for (task, mechanism), score in found.items()
        if score.cost
    ]
    columns = ["task", "mechanism", "training step, ms", "memory of a step, MB", "state of a layer in decoding, kB"]
    return ReportTable(name="costs", title="What a training step takes", columns=columns, rows=rows)


def _kilobytes(size: int | None) -> float | None:
    return None if size is None else size / 1e3


def _untrained(records: Sequence[Record]) -> ReportTable:
    rows: list[list[Cell]] = []
    for record in records:
        config = record["config"]
        times = 1000 * record["forward"], 1000 * record["step"]
        rows.append([config["mechanism"], config["length"], *times, record["bytes"] / 1e6])
    columns = ["mechanism", "length", "forward, ms", "training step, ms", "memory of a step, MB"]
    title = "Untrained models on one sequence, by its length"
    return ReportTable(name="untrained", title=title, columns=columns, rows=rows)


def _able(mechanisms: Iterable[str]) -> ReportTable:
    """Tell what each attention can and cannot do; whole models are no attention and have no row."""
    rows: list[list[Cell]] = []
    for mechanism in mechanisms:
        if able := abilities_of(mechanism):
            rows.append([mechanism, *("yes" if getattr(able, name) else "no" for name in ABILITIES)])
    columns = ["mechanism", *(name.replace("_", " ") for name in ABILITIES)]
    return ReportTable(name="abilities", title="What each can and cannot", columns=columns, rows=rows)


def _refused(records: Sequence[Record]) -> ReportTable:
    rows = dict.fromkeys((_where(r["config"]), r["config"]["mechanism"], r["refused"]) for r in records)
    columns = ["task", "mechanism", "reason"]
    return ReportTable(name="left-out", title="Left out", columns=columns, rows=[list(row) for row in rows])


def _where(config: Mapping[str, Any]) -> str:
    return config["task"] if "task" in config else f"{config['length']:,} tokens"
