import csv
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from rich.console import Console

from zoo.bench.grid.engine import Record
from zoo.bench.study.report import Report, ReportTable, table_of_runs, write_report
from zoo.errors import DataError

TABLE = ReportTable(
    name="pairs", title="Pairs", columns=["model", "steps", "error"], rows=[["a|b", 12_000, 0.123456], ["c", 3, None]]
)


def test_the_files_hold_the_findings_the_tables_in_full_and_the_figures(tmp_path: Path) -> None:
    report = Report(lines=["It is so."], tables=[TABLE], figures={"curve": Figure()})
    records: list[Record] = [
        {"config": {"x": 1}, "error": "no", "traceback": "long"},
        {"config": {"x": 2}, "y": 3},
    ]
    files = write_report(report, records, tmp_path, "Is it so?", "zoo bench so")
    assert {path.name for path in files} == {"report.md", "pairs.csv", "curve.png", "curve.svg", "runs.csv"}
    page = (tmp_path / "report.md").read_text()
    assert (
        page.index("# Is it so?") < page.index("`zoo bench so`") < page.index("- It is so.") < page.index("curve.png")
    )
    assert r"| a\|b | 12,000 | 0.1235 |" in page
    assert "| c | 3 | - |" in page
    with (tmp_path / "pairs.csv").open() as file:
        assert list(csv.reader(file))[1:] == [["a|b", "12000", "0.123456"], ["c", "3", ""]]
    with (tmp_path / "runs.csv").open() as file:
        assert list(csv.reader(file)) == [["x", "error", "y"], ["1", "no", ""], ["2", "", "3"]]


def test_numbers_stand_to_the_right_in_the_terminal() -> None:
    console = Console(width=60)
    with console.capture() as shown:
        console.print(TABLE.to_rich())
    assert " 12,000  0.1235" in shown.get()


def test_a_study_without_a_report_gets_a_table_of_what_was_asked_and_found() -> None:
    records: list[Record] = [
        {"config": {"x": 1, "which": [1]}, "key": "k", "threads": 1, "y": 0.5},
        {"config": {"x": 2}, "z": "far"},
    ]
    (table,) = table_of_runs(records).tables
    assert table.columns == ["x", "which", "y", "z"]
    assert table.rows == [[1, "[1]", 0.5, None], [2, None, None, "far"]]


def test_a_file_that_cannot_be_written_is_named_and_the_others_are_there(
    tmp_path: Path, limited_file_size: Callable[[int], AbstractContextManager[None]]
) -> None:
    long = ReportTable(name="long", title="Long", columns=["x"], rows=[["x" * 50] for _ in range(100)])
    with (
        pytest.raises(DataError, match=r"^long.csv, report.md in .* cannot be written: .* computes nothing"),
        limited_file_size(1000),
    ):
        write_report(Report(tables=[long]), [{"config": {"x": 1}}], tmp_path, "Long", "zoo bench long")
    assert (tmp_path / "runs.csv").exists()
