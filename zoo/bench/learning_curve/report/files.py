"""The files of a report: the figure as PNG and SVG, the page, the tables as CSV and the summary as JSON."""

import json
from collections.abc import Sequence
from pathlib import Path

from zoo.bench.learning_curve.report.compute_figure import draw_compute
from zoo.bench.learning_curve.report.csv_tables import curves_csv, results_csv
from zoo.bench.learning_curve.report.figure import draw
from zoo.bench.learning_curve.report.json_summary import summary
from zoo.bench.learning_curve.report.page import page
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.study.report import rendered, write_files


def write_report(study: Study, command: str, decided: Sequence[str] = ()) -> list[Path]:
    """Write all files, each whole or not at all; the records themselves are in results.jsonl already.

    Args:
        study: with the runs there are.
        command: that repeats it, for the report.
        decided: lines of a decision, which come first.

    Raises:
        DataError: If a file cannot be written, as on a full disk; the others are written.
    """
    files = rendered(draw(study))
    if compute := draw_compute(study):
        files |= rendered(compute, "compute")
    texts = {
        "results.csv": results_csv(study),
        "curves.csv": curves_csv(study),
        "summary.json": json.dumps(summary(study, decided), indent=2) + "\n",
        "report.html": page(study, command, files["figure.svg"].decode(), decided),
    }
    files |= {name: text.encode() for name, text in texts.items()}
    return write_files(study.folder, files)
