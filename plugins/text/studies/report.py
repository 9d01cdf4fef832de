"""The report of `zoo bench parallel-decoding`: quality and time of each model on each task."""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from zoo.bench import Report, ReportTable

Runs = Sequence[Mapping[str, Any]]
FIRST = "autoregressive"


def report(records: Runs) -> Report:
    """Make the report of the trainings there are."""
    of: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for record in records:
        of.setdefault((record["config"]["data"], record["config"]["variant"]), []).append(record)
    return Report(lines=[line for key in of if (line := found(key, of))], tables=[table(of)])


def found(key: tuple[str, str], of: Mapping[tuple[str, str], Runs]) -> str:
    """Say in a sentence how a model compares with the autoregressive one of its task; empty where that is not there."""
    data, variant = key
    if variant == FIRST or (data, FIRST) not in of:
        return ""
    mine, theirs = of[key], of[data, FIRST]
    faster = {name: mean(theirs, name) / mean(mine, name) for name in ("one", "batch")}
    return (
        f"{data}: {variant} writes {mean(mine, 'exact match'):.1%} exactly, {FIRST} {mean(theirs, 'exact match'):.1%}, "
        f"in {1 / faster['one']:.2f} of the time one by one and {1 / faster['batch']:.2f} in batches of 64."
    )


def table(of: Mapping[tuple[str, str], Runs]) -> ReportTable:
    """Lay out the means over the seeds, and of exact match the standard deviation."""
    columns = ["data", "model", "seeds", "exact match", "±", "BLEU", "ms, one by one", "ms, 64 together", "CPU s"]
    rows = [
        [
            data, variant, len(runs), mean(runs, "exact match"),
            stdev(run["exact match"] for run in runs) if len(runs) > 1 else None,
            mean(runs, "BLEU"), mean(runs, "one"), mean(runs, "batch"), mean(runs, "seconds"),
        ]
        for (data, variant), runs in of.items()
    ]  # fmt: skip
    title = "Quality on the test, and processor time for each answer"
    return ReportTable(name="scores", title=title, columns=columns, rows=rows)


def mean(runs: Runs, score: str) -> float:
    """Give the mean of a score over the seeds."""
    return fmean(run[score] for run in runs)
