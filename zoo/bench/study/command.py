"""The command of a study: its own options, and those of every study."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from zoo.bench.grid.results_store import key_of
from zoo.bench.grid.shard import Shard
from zoo.bench.interruption import resumable
from zoo.bench.study.definition import GridStudy
from zoo.bench.study.execution import EXECUTORS, Execution, executed_by
from zoo.bench.study.options import (
    AddressOption,
    ExecutorOption,
    RetryFailedOption,
    ShardOption,
    WorkersOption,
    own_options,
)
from zoo.bench.study.progress import Progress
from zoo.bench.study.report import write_report
from zoo.names import counted

OutOption = Annotated[
    Path | None, typer.Option(help="Folder of the results; a study that was stopped resumes from it.")
]


def command_of(study: GridStudy) -> Callable[..., None]:
    """Make the function with typer's annotations that `zoo bench NAME` calls."""

    def command(
        out: OutOption = None,
        workers: WorkersOption = None,
        retry_failed: RetryFailedOption = False,
        executor: ExecutorOption = EXECUTORS[0],
        address: AddressOption = None,
        shard: ShardOption = None,
        **options: Any,
    ) -> None:
        ray = executed_by(executor, address)
        part = Shard.parse(shard) if shard else None
        how = Execution(workers=workers, ray=ray, address=address, shard=part, retry_failed=retry_failed)
        _run(study, options, out or study.folder, how)

    own, shared = own_options(study.configs), list(inspect.signature(command).parameters.values())[:-1]
    shared[0] = shared[0].replace(annotation=_with_default(study.folder))
    parameters = [*own, *(each.replace(kind=each.KEYWORD_ONLY) for each in shared)]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__doc__ = study.help
    return command


def _run(study: GridStudy, options: dict[str, Any], folder: Path, how: Execution) -> None:
    """Run a study, show what was found and write the report; what failed or is missing gives the exit code 1."""
    console = Console()
    configs = study.configurations(options)
    repeated = study.command_with(options, folder)
    with resumable(folder, console):
        records = study.execute(configs, folder, how, Progress(console, study.unit))
    failed = sum("error" in record for record in records)
    if how.shard:
        console.print(f"Shard {how.shard} is done. When all are, the report: {repeated}", soft_wrap=True)
        raise typer.Exit(1 if failed else 0)
    report = study.found(records)
    for table in report.tables:
        console.print(table.to_rich(), markup=False)
    for line in report.lines:
        console.print(line, style="bold", markup=False)
    write_report(report, records, folder, study.title, repeated)
    console.print(f"Report: {folder / 'report.md'}", soft_wrap=True)
    if incomplete := _incomplete(len(set(map(key_of, configs))) - len(records), failed, study.unit):
        console.print(incomplete, style="yellow", markup=False)
        raise typer.Exit(1)


def _incomplete(missing: int, failed: int, unit: str) -> str:
    told = [f"{counted(missing, unit)} missing"] * bool(missing) + [f"{counted(failed, unit)} failed"] * bool(failed)
    return f"Not in the report: {', '.join(told)}." if told else ""


def _with_default(folder: Path) -> Any:
    (option,) = OutOption.__metadata__  # type: ignore[attr-defined]
    return Annotated[Path | None, typer.Option(help=option.help, show_default=str(folder))]
