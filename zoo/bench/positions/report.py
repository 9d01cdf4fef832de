"""The report of `zoo bench positions`: the vectors as pictures, and how far each encoding reaches."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np
from matplotlib.figure import Figure

from zoo.bench.grid.engine import Record
from zoo.bench.study.report import Cell, Report, ReportTable


def report(records: Sequence[Record]) -> Report:
    """Make the report of the trainings there are."""
    of: dict[str, list[Record]] = {}
    for record in records:
        of.setdefault(record["config"]["position"], []).append(record)
    figures = {"positions": draw(shown)} if (shown := [runs[0] for runs in of.values() if runs[0]["vectors"]]) else {}
    return Report(lines=[_found(name, runs) for name, runs in of.items()], tables=[_scores(of)], figures=figures)


def reached(runs: Sequence[Record], length: int) -> float | None:
    """Give the mean accuracy at a length; None where the encoding has no such positions."""
    scores = [{int(of): score for of, score in run["accuracy"].items()}.get(length) for run in runs]
    return None if None in scores else fmean(score for score in scores if score is not None)


def moved(run: Record) -> float | None:
    """Give how far training moved the vectors, as a share of their norm before; None where nothing is added."""
    if not run["vectors"]:
        return None
    before, after = (np.asarray(run[which]) for which in ("drawn", "vectors"))
    return float(np.linalg.norm(after - before) / np.linalg.norm(before))


def _found(name: str, runs: Sequence[Record]) -> str:
    length = runs[0]["config"]["length"]
    here, beyond = reached(runs, length), reached(runs, 2 * length)
    if here is None:
        return f"{name}: no score."
    far = (
        "has no positions behind it" if beyond is None else f"{beyond:.3f} at {2 * length}, to which it was not trained"
    )
    return f"{name}: {here:.3f} at {length} tokens; {far}."


def _scores(of: dict[str, list[Record]]) -> ReportTable:
    rows: list[list[Cell]] = []
    for name, runs in of.items():
        length = runs[0]["config"]["length"]
        rows.append([name, len(runs), reached(runs, length), reached(runs, 2 * length), moved(runs[0])])
    columns = ["position", "seeds", "accuracy", "at twice the length", "vectors moved by"]
    return ReportTable(
        name="scores", title="Telling the token three places before each; guessing is .125", columns=columns, rows=rows
    )


def draw(runs: Sequence[Record]) -> Figure:
    """Draw the vectors of a training of each encoding, position by channel, and below them their cosines."""
    figure = Figure(figsize=(3.1 * len(runs), 6.2), dpi=110, layout="constrained")
    panels = figure.subplots(2, len(runs), squeeze=False)
    for column, run in enumerate(runs):
        made = np.asarray(run["vectors"])
        norms = np.linalg.norm(made, axis=1, keepdims=True)
        units = made / np.where(norms > 0, norms, 1)
        top, bottom = panels[:, column]
        most = float(np.abs(made).max()) or 1.0
        top.imshow(made, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto", interpolation="nearest")
        bottom.imshow(units @ units.T, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
        top.set_title(run["config"]["position"], loc="left", fontsize=10, fontweight="bold")
        top.set_xlabel("channel", fontsize=8)
        bottom.set_xlabel("position", fontsize=8)
        for axes in (top, bottom):
            axes.tick_params(labelsize=7)
    panels[0][0].set_ylabel("position: its vector", fontsize=8)
    panels[1][0].set_ylabel("position: cosine with the others'", fontsize=8)
    return figure
