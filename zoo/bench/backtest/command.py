"""`zoo bench backtest`: what stored studies would have predicted without their largest size, beside what it showed."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from zoo.bench.backtest.stored import studies_in, study_folders
from zoo.bench.decision.backtest import check_error, check_labels
from zoo.bench.decision.bootstrap import Interval
from zoo.bench.decision.labels import why_not
from zoo.bench.decision.selection import LEAST_SIZES
from zoo.bench.learning_curve.report.table import pairs, round_size
from zoo.bench.learning_curve.results.entries import Data
from zoo.bench.learning_curve.results.study import Study
from zoo.errors import ConfigError, DataError
from zoo.names import counted


@dataclass(frozen=True)
class Row:
    """Hold a prediction, for the reader.

    Args:
        study: folder and data.
        kind: score, labels or crossing.
        what: was predicted, and for which models.
    """

    study: str
    kind: str
    what: str
    predicted: str
    measured: str
    held: bool


def command(
    folders: Annotated[
        list[Path] | None, typer.Argument(help="Folders with studies, at any depth: runs.", show_default=False)
    ] = None,
) -> None:
    """Back-test predictions on stored learning curves: scores, crossings and labels needed, against those measured."""
    console = Console()
    folders = folders or [Path("runs")]
    found = _found(folders)
    rows, left, unread = list[Row](), list[str](), list[str]()
    for folder in track(found, "studies", console=console, transient=True, disable=len(found) < 2):
        try:
            studies = studies_in(folder)
        except DataError as error:
            unread.append(str(error))
            continue
        for study in studies:
            rows += rows_of(study)
            left += not_predicted(study)
    if not rows and not left:
        raise ConfigError(
            f"{', '.join(map(str, folders))}: no results of a learning curve there; `zoo bench data-size --out FOLDER` "
            f"writes some{''.join(f'. {each}' for each in unread)}"
        )
    console.print(table(rows) if rows else "No prediction can be checked.")
    for line in (*shares(rows), *_counted(left), *(f"Left out: {each}" for each in unread)):
        console.print(line, markup=False, highlight=False)


def rows_of(study: Study) -> Iterator[Row]:
    """Give the back-tests of a study: of each model's score and labels, and of each pair's crossing."""
    name, data = f"{study.folder}: {study.data.name}", study.data
    for entry in study.models:
        curve = study.curve(entry.name)
        if len(curve.sizes) < 2:
            continue
        if check := check_error(curve):
            assert check.predicted
            assert check.measured is not None
            low, high = sorted(_score(data, error) for error in (check.predicted.low, check.predicted.high))
            predicted = f"{_score(data, check.predicted.value):.3f} (95 %: {low:.3f} to {high:.3f})"
            what = f"{data.measure} of {entry.name} at {curve.largest:,} examples"
            yield Row(name, "score", what, predicted, f"{_score(data, check.measured):.3f}", check.held)
        if check := check_labels(curve):
            what = f"examples of {entry.name} for {data.measure} {_score(data, float(curve.errors[-1])):.3f}"
            yield Row(name, "labels", what, _size(check.predicted), _count(check.measured), check.held)
    for first, second in pairs(study):
        if check := study.check_crossing(first, second):
            what = f"examples from which {second} leads {first}, up to {study.sizes[-1]:,}"
            yield Row(name, "crossing", what, _size(check.predicted), _count(check.measured), check.held)


def not_predicted(study: Study) -> Iterator[str]:
    """Say why there is no back-test of a model's curve."""
    for entry in study.models:
        curve = study.curve(entry.name)
        if len(curve.sizes) <= LEAST_SIZES:
            yield f"{LEAST_SIZES} sizes above chance or fewer, where a back-test takes {LEAST_SIZES + 1}"
        elif why_not(curve.without_largest()):
            yield "an error that rises"


def table(rows: Sequence[Row]) -> Table:
    """Lay out predictions and measurements, the studies apart."""
    laid = Table(title="Predicted from the smaller sizes, and measured")
    for column in ("study", "prediction of", "predicted", "measured", "held"):
        laid.add_column(column, overflow="fold")
    for above, row in zip([None, *rows], rows, strict=False):
        first = above is None or above.study != row.study
        if first and above:
            laid.add_section()
        laid.add_row(row.study if first else "", row.what, row.predicted, row.measured, "yes" if row.held else "no")
    return laid


def shares(rows: Sequence[Row]) -> list[str]:
    """Count the intervals that hold what was measured, by kind and in all."""
    if not rows:
        return []
    kinds = {kind: [row.held for row in rows if row.kind == kind] for kind in dict.fromkeys(row.kind for row in rows)}
    parts = [f"{kind} {sum(held)} of {len(held)}" for kind, held in kinds.items()]
    held = sum(row.held for row in rows)
    return [
        f"Intervals of 95 % that hold what was measured: {', '.join(parts)}; "
        f"in all {held} of {len(rows)}, {100 * held / len(rows):.0f} %."
    ]


def _found(folders: Sequence[Path]) -> list[Path]:
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"{folder}: there is no such folder; name one with studies of `zoo bench data-size`")
    return list(dict.fromkeys(each for folder in folders for each in study_folders(folder)))


def _counted(reasons: Sequence[str]) -> list[str]:
    return [f"Not predicted: {counted(count, 'curve')} with {reason}." for reason, count in Counter(reasons).items()]


def _score(data: Data, error: float) -> float:
    """Turn an error into the score that users read; no accuracy is below 0, however far an interval goes."""
    return data.shown(data.best - (min(error, 1.0) if data.metric == "accuracy" else error))


def _size(size: Interval | None) -> str:
    if size is None:
        return "none"
    return f"{_count(size.value)} (95 %: {_count(size.low)} to {_count(size.high)})"


def _count(size: float | None) -> str:
    return "none" if size is None else "never" if math.isinf(size) else round_size(size)
