"""The report of a study: what was found in sentences, tables and figures, in the terminal and as files."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from zoo.atomic_write import write_bytes
from zoo.bench.grid.engine import Record
from zoo.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = str | int | float | None
"""A float is written with four digits, None as a dash."""


@dataclass(frozen=True, kw_only=True)
class ReportTable:
    """A table of a report, and of a CSV file.

    Args:
        name: of the CSV file, without its ending.
        title: above the table.
        columns: headings.
        rows: as many cells each.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def to_rich(self) -> Table:
        """Lay it out for the terminal."""
        view = Table(title=self.title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for column, numbers in zip(self.columns, self._numeric, strict=True):
            view.add_column(column, justify="right" if numbers else "left")
        for row in self.rows:
            view.add_row(*map(_shown, row))
        return view

    def markdown(self) -> str:
        """Lay it out as a section of a document."""
        rule = "|".join("--:" if numbers else "---" for numbers in self._numeric)
        lines = [f"| {' | '.join(_escaped(_shown(cell)) for cell in row)} |" for row in (self.columns, *self.rows)]
        return "\n".join([f"## {self.title}", "", lines[0], f"|{rule}|", *lines[1:], ""])

    @property
    def _numeric(self) -> list[bool]:
        """Whether each column holds numbers only."""
        columns = zip(*self.rows, strict=True) if self.rows else [() for _ in self.columns]
        return [all(cell is None or isinstance(cell, int | float) for cell in column) for column in columns]


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a study found.

    Args:
        lines: the findings, a sentence each.
        tables: figures behind them.
        figures: name of a PNG and an SVG file to Matplotlib's figure.
    """

    lines: Sequence[str] = ()
    tables: Sequence[ReportTable] = ()
    figures: "Mapping[str, Figure]" = field(default_factory=dict)


def table_of_runs(records: Sequence[Record]) -> Report:
    """Make the report of a study that defines none: a table with the configuration and the result of each run."""
    keys = dict.fromkeys(key for record in records for key in record["config"])
    told = ("version", "zoo_version", "key", "config", "products", "threads", *keys)
    values = dict.fromkeys(key for record in records for key in record if key not in told)
    rows = [[*(_plain(r["config"].get(key)) for key in keys), *(_plain(r.get(key)) for key in values)] for r in records]
    return Report(tables=[ReportTable(name="table", title="Runs", columns=[*keys, *values], rows=rows)])


def write_report(report: Report, records: Iterable[Record], folder: Path, title: str, command: str) -> list[Path]:
    """Write `report.md`, each table as CSV, each figure as PNG and SVG, and all runs, failed ones too, as `runs.csv`.

    Args:
        report: that is written.
        records: of all runs.
        folder: of the study.
        title: of the study.
        command: that repeats it.

    Raises:
        DataError: If a file cannot be written, as on a full disk; the others are written.
    """
    files: dict[str, bytes] = {}
    page = [f"# {title}", "", f"Made by `{command}`; made again, it goes on from its results.", ""]
    page += [f"- {line}" for line in report.lines] + [""] * bool(report.lines)
    for name, figure in report.figures.items():
        files |= rendered(figure, name)
        page += [f"![{name}]({name}.png)", ""]
    for table in report.tables:
        page.append(table.markdown())
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        files[f"{table.name}.csv"] = csv_text(table.columns, rows).encode()
    files["runs.csv"] = _runs_csv(records).encode()
    return write_files(folder, files | {"report.md": "\n".join(page).encode()})


def rendered(figure: "Figure", name: str = "figure") -> dict[str, bytes]:
    """Give a figure as the contents of a PNG and an SVG file."""
    files = {}
    for ending, metadata in (("png", None), ("svg", {"Date": None})):
        content = io.BytesIO()
        figure.savefig(content, format=ending, metadata=metadata)
        files[f"{name}.{ending}"] = content.getvalue()
    return files


def write_files(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write the files of a report, each whole or not at all.

    Raises:
        DataError: If a file cannot be written; the others are written.
    """
    failed: dict[str, OSError] = {}
    for name, content in files.items():
        try:
            write_bytes(folder / name, content)
        except OSError as error:
            failed[name] = error
    if failed:
        cause = next(iter(failed.values()))
        raise DataError(
            f"{', '.join(failed)} in {folder} cannot be written: {cause.strerror}. The results are safe in "
            "results.jsonl: make room and run the same command again, which computes nothing and writes the report"
        ) from cause
    return [folder / name for name in files]


def csv_text(columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Write rows as CSV; what is in no column is left out."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns), extrasaction="ignore", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _runs_csv(records: Iterable[Record]) -> str:
    rows = [
        {**record["config"], **{key: value for key, value in record.items() if key != "config"}} for record in records
    ]
    return csv_text(dict.fromkeys(key for row in rows for key in row if key != "traceback"), rows)


def _plain(value: Any) -> Cell:
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _shown(cell: Cell) -> str:
    if cell is None:
        return "-"
    return f"{cell:.4g}" if isinstance(cell, float) else f"{cell:,}" if type(cell) is int else str(cell)


def _escaped(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")
