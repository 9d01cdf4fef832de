"""`zoo bench speed`: measurements of models and suites, stored one by one, and their tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from zoo.atomic_write import write_text
from zoo.bench.grid.engine import Record
from zoo.bench.grid.threads import torch_threads
from zoo.bench.interruption import resumable
from zoo.bench.speed import compare, regret, startup
from zoo.bench.speed import suite as suites
from zoo.bench.speed.stored import FOLDER, measured
from zoo.bench.study.options import RetryFailedOption, numbers_in
from zoo.bench.study.progress import Progress
from zoo.errors import ConfigError
from zoo.factory import create
from zoo.registry.lookup import registry

WORK, PRECISIONS = ",".join(compare.WORK), ",".join(compare.PRECISIONS)


def command(
    models: Annotated[str, typer.Option(help="Models, separated by commas.")] = "vit-small",
    peer: Annotated[
        bool, typer.Option("--peer", help="Measure the same model of its peer library too, in turns.")
    ] = False,
    batch_size: Annotated[int, typer.Option(min=1, help="Examples in a batch.")] = 8,
    work: Annotated[str, typer.Option(help="What is measured: forward, step; separated by commas.")] = ",".join(
        compare.WORK
    ),
    precision: Annotated[str, typer.Option(help="Precisions: fp32, bf16, autocast; separated by commas.")] = PRECISIONS,
    threads: Annotated[str, typer.Option(help="Numbers of threads, separated by commas.")] = "1,2",
    rounds: Annotated[int, typer.Option(min=1, help="Timed runs of each case.")] = 15,
    suite: Annotated[
        str,
        typer.Option(help="Suite: models, startup, planner, or one against peer libraries: engine, or a plugin's."),
    ] = "models",
    only: Annotated[
        str, typer.Option(help="Only cases whose name contains this text, in suites of peer libraries.")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Markdown file that the table is written to as well.")] = None,
    device: Annotated[
        str, typer.Option(help="Device of a suite's cases, cpu or cuda; on a GPU with the first of --threads only.")
    ] = "cpu",
    problems: Annotated[int, typer.Option(min=1, help="Random problems of the suite planner.")] = 120,
    folder: Annotated[
        Path,
        typer.Option(help="Folder of the results, which are not measured again; startup and planner keep none."),
    ] = FOLDER,
    retry_failed: RetryFailedOption = False,
) -> None:
    """Measure the speed of models on this machine, and against the same model of its peer library."""
    console = Console()
    create.place(device)
    if device != "cpu" and suite in ("models", "startup"):
        raise ConfigError(f"--device {device} is of suites against peer libraries, such as --suite gpu, not {suite!r}")
    if suite == "startup":
        with console.status("starting processes"):
            console.print(startup.table(startup.measure(rounds)), markup=False)
        return
    counts = numbers_in(threads, "--threads", "number of threads")
    if suite == "planner":
        return _planner(console, problems, counts[0], out, device)
    if suite == "models":
        plan = _of_models(models.split(","), peer, batch_size, work.split(","), precision.split(","), counts, rounds)
    else:
        plan = _of_suite(suite, only, counts if device == "cpu" else counts[:1], rounds, device)
    if not console.is_terminal:
        console.width = 120  # a pipe has no width to fold at
    records: list[Record] = []
    with resumable(folder, console):
        for records in measured(plan.work, plan.configs, folder, Progress(console, "measurement"), retry_failed):
            if out and records:
                _save(out, plan.text(records))
    console.print(plan.table(records), markup=False)
    if suite == "models" and any("error" in record for record in records):
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Plan:
    """Hold what is measured, and how its records are shown."""

    work: str
    configs: Sequence[Mapping[str, Any]]
    table: Callable[[Sequence[Record]], Table]
    text: Callable[[Sequence[Record]], str]


def _of_models(
    models: Sequence[str],
    peer: bool,
    batch_size: int,
    work: Sequence[str],
    precisions: Sequence[str],
    counts: Sequence[int],
    rounds: int,
) -> _Plan:
    configs = compare.configurations(
        models, peer=peer, batch_size=batch_size, work=work, precisions=precisions, thread_counts=counts, rounds=rounds
    )
    repeated = f"--models {','.join(models)}{' --peer' if peer else ''} --batch-size {batch_size} --rounds {rounds}"
    repeated += f" --work {','.join(work)} --precision {','.join(precisions)} --threads {','.join(map(str, counts))}"
    return _Plan(
        "zoo.bench.speed.compare:execute",
        configs,
        lambda records: compare.table(compare.rows_of(records)),
        lambda records: compare.markdown(compare.rows_of(records), f"zoo bench speed {repeated}"),
    )


def _of_suite(name: str, only: str, counts: Sequence[int], rounds: int, device: str) -> _Plan:
    """Plan a suite; see `zoo.bench.speed.suite`.

    Raises:
        ConfigError: If there is no such suite, or it has no such case.
    """
    known = registry().suites
    found = known.get(name)
    if found is None:
        raise ConfigError(f"suite={name!r} is not one of models, {', '.join(known.names())}, planner, startup")
    repeated = f"--suite {name} --rounds {rounds} --threads {','.join(map(str, counts))}"
    repeated += f"{f' --only {only!r}' if only else ''}{f' --device {device}' if device != 'cpu' else ''}"
    title = found.title
    return _Plan(
        "zoo.bench.speed.suite:execute",
        suites.configurations(found.package, only, counts, rounds, device),
        lambda records: suites.table(suites.rows_of(records)),
        lambda records: suites.markdown(suites.rows_of(records), title, f"zoo bench speed {repeated}"),
    )


def _planner(console: Console, count: int, of_threads: int, out: Path | None, device: str) -> None:
    """Measure the planner's regret; see `zoo.bench.speed.regret`. The file is written after each problem."""
    options = f"--problems {count} --threads {of_threads}{f' --device {device}' if device != 'cpu' else ''}"
    found: list[regret.Regret] = []
    with torch_threads(of_threads):
        each = regret.measured(regret.problems(count, device))
        for one in track(each, "measuring", total=count, console=console):
            found.append(one)
            if out:
                _save(out, regret.markdown(found, f"zoo bench speed --suite planner {options}"))
    console.print(regret.table(found), markup=False)


def _save(out: Path, text: str) -> None:
    try:
        write_text(out, text)
    except OSError as error:
        raise ConfigError(f"--out {str(out)!r} cannot be written: {error}; the table is shown above") from error
