"""The study `modalities`: `data-size` of every modality, one after another, and a page with all figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from matplotlib.figure import Figure
from rich.console import Console

from zoo.bench.interruption import resumable
from zoo.bench.learning_curve.config import StudyConfig
from zoo.bench.learning_curve.execution import RunOptions
from zoo.bench.learning_curve.lineup import comparison_of
from zoo.bench.learning_curve.plan import quick
from zoo.bench.learning_curve.progress import Progress
from zoo.bench.learning_curve.repeat import command_for
from zoo.bench.learning_curve.report import write_report
from zoo.bench.learning_curve.report.figure import draw_on, title
from zoo.bench.learning_curve.report.table import conclusion, score_text
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.learning_curve.run_study import run_study
from zoo.bench.study.options import WorkersOption
from zoo.bench.study.report import rendered, write_files
from zoo.errors import ZooError
from zoo.registry.lookup import registry

FOLDER = "runs/modalities"
COLUMNS = 2
"""Figures side by side."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Hold what became of one modality: its study, or why there is none."""

    modality: str
    command: str
    study: Study | None = None
    cause: str = ""


def command(
    only: Annotated[
        str, typer.Option("--modalities", help="Modalities, separated by commas; by default all.", show_default=False)
    ] = "",
    seeds: Annotated[int | None, typer.Option(help="Random seeds: 3, with --quick 2.", show_default=False)] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results; a study that was stopped resumes from it.")] = Path(
        FOLDER
    ),
    workers: WorkersOption = None,
    fast: Annotated[bool, typer.Option("--quick", help="Smaller studies.")] = False,
    device: Annotated[str, typer.Option(help="Device: auto, cpu, cuda, mps.")] = "auto",
) -> None:
    """Learning curves of every modality, each on the data that its plugin names, and one page with all figures."""
    console = Console()
    names = [each.strip() for each in only.split(",") if each.strip()] or [each.name for each in registry().comparisons]
    options, parts = RunOptions(workers=workers), []
    with resumable(out, console):
        for name in names:
            asked = comparison_of(name)
            config = StudyConfig(models=asked.models, data=asked.data, seeds=seeds, device=device)
            config = quick(config) if fast else config
            parts.append(_run(asked.name, config, out / asked.name, options, console))
    write_page(parts, out, "zoo bench modalities" + (" --quick" if fast else ""))
    for part in parts:
        for line in conclusion(part.study) if part.study else [f"not run: {part.cause}"]:
            console.print(f"{part.modality}: {line}", markup=False)
    console.print(f"Page: {out / 'modalities.md'}", soft_wrap=True)
    if any(part.study is None or part.study.failures for part in parts):
        raise typer.Exit(1)


def _run(modality: str, config: StudyConfig, folder: Path, options: RunOptions, console: Console) -> Part:
    """Run a study; what its data or models lack on this machine is told, and the others go on."""
    repeated = command_for(config, folder)
    console.print(f"{modality}: {repeated}", style="dim", markup=False, soft_wrap=True)
    try:
        study = run_study(config, folder, options, Progress(console))
    except ZooError as error:
        return Part(modality=modality, command=repeated, cause=str(error))
    write_report(study, repeated)
    return Part(modality=modality, command=repeated, study=study)


def write_page(parts: Sequence[Part], folder: Path, repeated: str) -> None:
    """Write `modalities.md`, and the figures side by side as `modalities.png` and `modalities.svg`.

    Args:
        parts: the modalities, in the order of the page.
        folder: that they are written to.
        repeated: the command that makes the page.

    Raises:
        DataError: If a file cannot be written.
    """
    studied = {part.modality: part.study for part in parts if part.study}
    folder.mkdir(parents=True, exist_ok=True)
    figures = rendered(draw_together(studied), "modalities") if studied else {}
    write_files(folder, {**figures, "modalities.md": page(parts, repeated).encode()})


def draw_together(studies: Mapping[str, Study]) -> Figure:
    """Draw the figures of several modalities' studies side by side, each with what was found above it."""
    rows = -(-len(studies) // COLUMNS)
    columns = min(COLUMNS, len(studies))
    figure = Figure(figsize=(7 * columns, 5.2 * rows), dpi=110, layout="constrained")
    every = figure.subplots(rows, columns, squeeze=False).flat
    for axes, (modality, study) in zip(every, studies.items(), strict=False):
        draw_on(axes, study)
        axes.set_title(f"{modality.capitalize()}: {title(study, 70)}", loc="left", fontsize=10, fontweight="bold")
    for axes in figure.axes[len(studies) :]:
        axes.remove()
    return figure


def page(parts: Sequence[Part], repeated: str) -> str:
    """Write the page: what was found, in which modalities nothing crosses, and each study's table."""
    lines = [
        "# Learning curves in every modality",
        "",
        f"Made by `{repeated}`; made again, it goes on from its results.",
    ]
    if any(part.study for part in parts):
        lines += ["", "![Test error by training examples, a figure for each modality](modalities.png)"]
    lines += ["", "| modality | data | does self-attention overtake the convolution? |", "|---|---|---|"]
    lines += [f"| {part.modality} | {part.study.data.name if part.study else ''} | {verdict(part)} |" for part in parts]
    for part in parts:
        lines += ["", f"## {part.modality.capitalize()}", ""]
        lines += _section(part.study) if part.study else [f"Not run: {part.cause}"]
        lines += ["", f"`{part.command}`"]
    return "\n".join(lines) + "\n"


def verdict(part: Part) -> str:
    """Say in a sentence whether the curves of a modality cross, and if not, who leads."""
    if part.study is None:
        return f"Not run: {part.cause}"
    crossover, found = part.study.crossover(), conclusion(part.study)
    crosses = crossover is not None and crossover.kind == "measured"
    return f"{'Yes.' if crosses else 'Nothing crosses here.'} {found[0] if found else ''}".strip()


def _section(study: Study) -> list[str]:
    lines = [study.data.description, "", *(f"- {line}" for line in conclusion(study)), ""]
    names = [entry.name for entry in study.models]
    lines += ["| examples | " + " | ".join(names) + " |", "|--:" * (len(names) + 1) + "|"]
    for size in study.sizes:
        points = [study.points.get((name, size)) for name in names]
        cells = [score_text(study, point) if point else "-" for point in points]
        lines.append(f"| {size:,} | " + " | ".join(cells) + " |")
    sizes = [f"{entry.name} {entry.parameters / 1e3:,.0f} k" for entry in study.models]
    return [*lines, "", f"Test {study.data.measure}, ± half a 95 % interval; parameters: {', '.join(sizes)}."]
