"""The report of `zoo bench captions`: scores, and each picture once for each word with the attention laid over it."""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from zoo.bench import Report, ReportTable
from zoo.plugins.caption.data.corpus import EXACT, POINTING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Runs = Sequence[Mapping[str, Any]]
PANEL = 0.95
"""Inches, of a picture."""
PICTURES = 2
"""In the figure, at most."""


def report(records: Runs) -> Report:
    """Make the report of the trainings there are."""
    of: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        of.setdefault(record["config"]["variant"], []).append(record)
    looked = {name: runs[0]["shown"] for name, runs in of.items()}
    return Report(lines=[found(name, runs) for name, runs in of.items()], tables=[table(of)], figures=figures(looked))


def found(name: str, runs: Runs) -> str:
    """Say in a sentence what a variant reached."""
    exact, pointing, unseen = (mean(runs, *of) for of in (("seen", EXACT), ("seen", POINTING), ("unseen", EXACT)))
    return (
        f"{name}: {exact:.1%} of the captions are exact, {unseen:.1%} of those with pairs never seen; "
        f"{pointing:.0%} of the attention lies on the thing while it is named."
    )


def table(of: Mapping[str, Runs]) -> ReportTable:
    """Lay out the means over the seeds, and of exact match and pointing the standard deviations."""
    columns = ["attention", "seeds", EXACT, "±", "BLEU", POINTING, "± ", "unseen: exact", "unseen: pointing", "CPU s"]
    rows = [
        [
            name, len(runs), mean(runs, "seen", EXACT), spread(runs, "seen", EXACT), mean(runs, "seen", "BLEU"),
            mean(runs, "seen", POINTING), spread(runs, "seen", POINTING), mean(runs, "unseen", EXACT),
            mean(runs, "unseen", POINTING), fmean(run["seconds"] for run in runs),
        ]
        for name, runs in of.items()
    ]  # fmt: skip
    return ReportTable(
        name="scores", title="Captions of drawn scenes; uniform attention points with .16", columns=columns, rows=rows
    )


def mean(runs: Runs, part: str, score: str) -> float:
    """Give the mean of a score over the seeds."""
    return fmean(run[part][score] for run in runs)


def spread(runs: Runs, part: str, score: str) -> float | None:
    """Give the standard deviation of a score over the seeds; None of one."""
    return stdev(run[part][score] for run in runs) if len(runs) > 1 else None


def figures(looked: Mapping[str, Sequence[Mapping[str, Any]]]) -> "dict[str, Figure]":
    """Draw each of some pictures once for each word, a row for each variant; none where nothing was kept."""
    pictures = min(PICTURES, *(len(shown) for shown in looked.values()))
    if not pictures:
        return {}
    rows = [(name, shown[at]) for at in range(pictures) for name, shown in looked.items()]
    return {"captions": draw(rows)}


def draw(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> "Figure":
    """Draw rows: a name, and a picture with its words and weights. Words that are not those wanted are red."""
    import torch
    from matplotlib.figure import Figure

    from zoo.viz import lay_over

    across = 1 + max(len(shown["words"]) for _, shown in rows)
    figure = Figure(figsize=(PANEL * across, (PANEL + 0.25) * len(rows)), dpi=110, layout="constrained")
    panels = figure.subplots(len(rows), across, squeeze=False)
    for (name, shown), (first, *others) in zip(rows, panels, strict=True):
        pixels = torch.tensor(shown["pixels"], dtype=torch.uint8)
        lay_over(first, pixels, None, 1.0)
        first.set_title(name, fontsize=7, fontweight="bold", loc="left")
        wanted = [*shown["wanted"].split(), *[None] * across]
        for axes in others:
            axes.set_axis_off()
        for axes, word, right, weights in zip(others, shown["words"], wanted, shown["weights"], strict=False):
            lay_over(axes, pixels, torch.tensor(weights).reshape(tuple(shown["grid"])), 1.0)
            axes.set_title(word, fontsize=8, color="black" if word == right else "tab:red")
    return figure
