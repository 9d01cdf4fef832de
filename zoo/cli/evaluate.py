"""`zoo evaluate RUN --data …`: the scores of a run on data with intervals, by group, and a report page."""

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zoo.cli.arguments import Checkpoint, Device, Int8, check_out
from zoo.evaluation.api import ALL, LEAST, SAMPLES, SPLITS, WORST
from zoo.evaluation.api import evaluate as judge

if TYPE_CHECKING:
    from rich.table import Table

    from zoo.evaluation.evaluation import Evaluation


def evaluate(
    run: Checkpoint,
    data: Annotated[
        str | None,
        typer.Option(help="Data source, as for `zoo train`.", show_default="the data that the run was trained on"),
    ] = None,
    split: Annotated[str, typer.Option(help=f"What is judged: {', '.join(SPLITS)}, or {ALL}.")] = "test",
    by: Annotated[
        str | None,
        typer.Option(help="Column of your table: scores for each of its values, too.", show_default=False),
    ] = None,
    least: Annotated[int, typer.Option(min=1, help="Examples that a group needs to be judged.")] = LEAST,
    samples: Annotated[int, typer.Option(min=1, help="Bootstrap samples of the intervals.")] = SAMPLES,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the bootstrap.")] = 0,
    worst: Annotated[int, typer.Option(min=0, help="Examples with the worst answers that the page shows.")] = WORST,
    out: Annotated[Path, typer.Option(help="HTML file of the report.")] = Path("evaluation.html"),
    csv: Annotated[
        Path | None, typer.Option("--csv", help="CSV file of all items and answers.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Examples that are answered together.", show_default="that of the training"),
    ] = None,
    device: Device = "cpu",
    int8: Int8 = False,
) -> None:
    """Judge a run on data: every score of its task with an interval, by group, and a page with its worst answers."""
    check_out(out, (".html", ".htm"))
    if csv is not None:
        check_out(csv, (".csv",), "--csv")
    found = judge(
        run, data, by=by, split=split, samples=samples, seed=seed, least=least, worst=worst, batch_size=batch_size,
        device=device, int8=int8,
    )  # fmt: skip
    found.report(out, shlex.join(["zoo", *sys.argv[1:]]))
    if csv is not None:
        found.to_csv(csv)
    kept = _kept(found, run) if not int8 else None
    if as_json:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=1))
        return
    _show(found)
    files = {"report": out, "items": csv, "for the card of zoo push": kept}
    typer.echo("  ".join(f"{what}: {path}" for what, path in files.items() if path is not None))


def _kept(found: "Evaluation", run: str) -> Path | None:
    """Keep the scores of the test split beside the weights of a run, for the card of `zoo push`."""
    folder = Path(run.removeprefix("local-dir:")).expanduser()
    return found.keep(folder) if found.held_out and found.scores and os.access(folder, os.W_OK) else None


def _show(found: "Evaluation") -> None:
    """Print scores, groups and notes."""
    from rich.console import Console

    console = Console()
    console.print(f"{found.run} on {found.data}, {found.split}: {found.count:,} judged", markup=False, highlight=False)
    if found.scores:
        console.print(_table(found))
    elif found.own:
        console.print("  ".join(f"{name} {value:.4g}" for name, value in found.own.items()), markup=False)
    if found.small:
        told = ", ".join(f"{name} ({count})" for name, count in found.small.items())
        console.print(f"too small to be judged: {told}", markup=False, highlight=False)
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)


def _table(found: "Evaluation") -> "Table":
    from rich.markup import escape
    from rich.table import Table

    from zoo.evaluation.report.page import number

    view = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("score", "value", "95 % interval"):
        view.add_column(column, justify="left" if column == "score" else "right")
    for group in found.groups:
        view.add_column(escape(group), justify="right")
    for name, one in found.scores.items():
        groups = (number(scores[name].value) for scores in found.groups.values())
        view.add_row(name, number(one.value), f"{number(one.low)} … {number(one.high)}", *groups)
    return view
