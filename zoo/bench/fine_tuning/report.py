"""The report of `zoo bench fine-tuning`: a table for each number of examples, and what it says.

Axes: s seeds, n test examples.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean, median

import numpy as np
from matplotlib.figure import Figure

from zoo.bench.decision.bootstrap import Array, Interval, bootstrap, draw_examples, interval
from zoo.bench.fine_tuning.training import FROZEN, PROBE, SCRATCH
from zoo.bench.grid.engine import Record
from zoo.bench.study.report import Report, ReportTable

ALIKE = 0.05
"""Difference of accuracies that is worth no training."""
Runs = Mapping[str, Sequence[Record]]
"""Finished runs of each way."""


def report(records: Sequence[Record]) -> Report:
    """Make the report of the runs there are."""
    by_count: dict[int, dict[str, list[Record]]] = {}
    for record in records:
        of = by_count.setdefault(record["config"]["each"], {})
        of.setdefault(record["config"]["way"], []).append(record)
    draws = {each: _draws(runs) for each, runs in sorted(by_count.items())}
    lines = [line for each, runs in sorted(by_count.items()) for line in _found(each, runs, draws[each])]
    tables = [_table(each, runs, draws[each]) for each, runs in sorted(by_count.items())]
    return Report(lines=lines, tables=tables, figures={"fine-tuning": _drawn(by_count, draws)})


def _draws(runs: Runs) -> dict[str, Array]:
    """Draw accuracies of each way, over its seeds and over test examples, the same of all ways.

    A seed chooses the training examples, the same for each way: so ways are compared in pairs.
    """
    count = len(next(iter(runs.values()))[0]["correct"])
    weights = draw_examples(count, np.random.default_rng(0))
    in_order = {way: sorted(of, key=lambda run: run["config"]["seed"]) for way, of in runs.items()}
    return {
        way: bootstrap([_right(run) for run in of], weights, np.random.default_rng(1)) for way, of in in_order.items()
    }


def _right(run: Record) -> "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]":
    return np.array([each == "1" for each in run["correct"]])


def accuracy(runs: Sequence[Record], draws: Array) -> Interval:
    """Give the mean accuracy with its interval."""
    return interval(fmean(run["accuracy"] for run in runs), draws)


def _found(each: int, runs: Runs, draws: Mapping[str, Array]) -> list[str]:
    """Say whether pretraining helps, and whether a probe is enough, or the encoder must be trained."""
    shown = {way: accuracy(of, draws[way]) for way, of in runs.items()}
    tuned = {way: one for way, one in shown.items() if way not in (SCRATCH, PROBE, FROZEN)}
    lines = []
    begin = f"{each} examples of each new class:"
    if SCRATCH in shown and len(shown) > 1:
        best = max((way for way in shown if way != SCRATCH), key=lambda way: shown[way].value)
        gain = interval(shown[best].value - shown[SCRATCH].value, draws[best] - draws[SCRATCH])
        sure = "pretraining helps" if gain.low > 0 else "whether pretraining helps is open"
        lines.append(f"{begin} {best} {shown[best]}, {SCRATCH} {shown[SCRATCH]}; {sure} (difference {gain}).")
    if PROBE in shown and tuned:
        best = max(tuned, key=lambda way: tuned[way].value)
        gain = interval(tuned[best].value - shown[PROBE].value, draws[best] - draws[PROBE])
        lines.append(f"{begin} {_enough(best, gain.low, gain.high)} (difference {gain}).")
    return lines


def _enough(best: str, low: float, high: float) -> str:
    if low > 0:
        return f"a probe is not enough: {best} is better"
    if high < ALIKE:
        return f"a probe is enough: {best} is no better, or by less than {ALIKE}"
    return f"it is open whether a probe is enough: {best} may be better"


def _table(each: int, runs: Runs, draws: Mapping[str, Array]) -> ReportTable:
    rows = [
        [way, str(accuracy(of, draws[way])), round(median(run["seconds"] for run in of), 2), of[0]["trained"]]
        for way, of in runs.items()
    ]
    return ReportTable(
        name=f"{each}-examples",
        title=f"{each} examples of each new class",
        columns=("way", "accuracy", "seconds", "trained parameters"),
        rows=rows,
    )


def _drawn(by_count: Mapping[int, Runs], draws: Mapping[int, Mapping[str, Array]]) -> Figure:
    """Draw accuracy over the number of examples, a line for each way, with its interval."""
    figure = Figure(figsize=(7, 4.4), layout="constrained")
    axes = figure.subplots()
    ways = dict.fromkeys(way for runs in by_count.values() for way in runs)
    for way in ways:
        counts = [each for each in sorted(by_count) if way in by_count[each]]
        shown = [accuracy(by_count[each][way], draws[each][way]) for each in counts]
        ends = [[one.value - one.low for one in shown], [one.high - one.value for one in shown]]
        axes.errorbar(counts, [one.value for one in shown], ends, marker="o", capsize=2, label=way)
    axes.set(xscale="log", xlabel="training examples of each new class", ylabel="test accuracy")
    axes.set_xticks(sorted(by_count), [str(each) for each in sorted(by_count)])
    axes.minorticks_off()
    axes.legend()
    return figure
