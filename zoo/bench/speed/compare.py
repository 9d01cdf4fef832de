"""`zoo bench speed`: throughput of any model by name, and the ratio to the same model in its peer library."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import nn

from zoo.atomic_write import write_text
from zoo.bench.speed import regret, startup
from zoo.bench.speed import suite as suites
from zoo.bench.speed.timing import Spread, in_turns, matrix_rate, threads
from zoo.core import flops
from zoo.errors import ConfigError
from zoo.factory import create
from zoo.registry.entry_loading import load
from zoo.registry.lookup import registry
from zoo.spec import ModelSpec, SuiteSpec

WORK = ("forward", "step")
PRECISIONS = ("fp32", "bf16", "autocast")
STEP_OVER_FORWARD = 3
"""Operations of a training step over those of a forward: backward multiplies by weights and by inputs."""


@dataclass(frozen=True)
class Row:
    """Give one measurement: a model, what it did, how, and how fast."""

    model: str
    work: str
    precision: str
    threads: int
    per_second: float
    """Examples a second."""
    share: float
    """Of the operations a second that a large matrix product of this precision reaches here."""
    ratio: Spread | None
    """Our time over the peer's; below 1 we are faster."""


def measure(
    models: Sequence[str],
    *,
    peer: bool = False,
    batch_size: int = 8,
    work: Sequence[str] = WORK,
    precisions: Sequence[str] = PRECISIONS,
    thread_counts: Sequence[int] = (1, 2),
    rounds: int = 15,
) -> Iterator[Row]:
    """Measure models, each piece of work for each precision and number of threads.

    Args:
        models: names.
        peer: whether to run the same model, with the same weights, in its peer library in turns.
        batch_size: examples.
        work: of `forward` (evaluation, no gradients) and `step` (forward, loss, backward, AdamW).
        precisions: of `fp32`, `bf16` (weights too) and `autocast` (weights in fp32).
        thread_counts: how many threads compute.
        rounds: timed runs.

    Raises:
        ConfigError: If a piece of work or precision is unknown, or a model has no peer.
    """
    for name, values, known in (("work", work, WORK), ("precision", precisions, PRECISIONS)):
        for value in values:
            if value not in known:
                raise ConfigError(f"{name}={value!r} is not one of {', '.join(known)}")
    for model in models:
        for precision in precisions:
            for count in thread_counts:
                with threads(count):
                    for task in work:
                        yield _measure(model, task, precision, count, peer, batch_size, rounds)


def _measure(name: str, work: str, precision: str, count: int, peer: bool, batch_size: int, rounds: int) -> Row:
    ours = create.create(name)
    theirs = _peer(ours) if peer else ours
    inputs = create.example(name, batch_size)
    operations = flops.count(ours.eval(), *inputs).total * (STEP_OVER_FORWARD if work == "step" else 1)
    run_ours, run_theirs = (_job(model, inputs, work, precision) for model in (ours, theirs))
    mine, other = in_turns(run_ours, run_theirs if peer else lambda: None, rounds)
    typical = Spread.of(mine).median
    rate = matrix_rate(torch.float32 if precision == "fp32" else torch.bfloat16)
    ratio = Spread.of([a / b for a, b in zip(mine, other, strict=True)]) if peer else None
    return Row(name, work, precision, count, batch_size / typical, operations / typical / rate, ratio)


def _peer(model: nn.Module) -> nn.Module:
    spec = model.spec
    assert isinstance(spec, ModelSpec)
    if spec.peer is None:
        raise ConfigError(f"{spec.name!r} has no peer to compare with; without --peer it is timed alone")
    return load(spec, spec.peer)(model)


def _job(model: nn.Module, inputs: tuple[Any, ...], work: str, precision: str) -> Callable[[], object]:
    """Make the function to time: it runs the model once, as users of that precision do."""
    if precision == "bf16":
        model.to(torch.bfloat16)
        inputs = tuple(x.bfloat16() if x.is_floating_point() else x for x in inputs)
    context = (
        torch.autocast(inputs[0].device.type, torch.bfloat16) if precision == "autocast" else contextlib.nullcontext()
    )

    def forward() -> object:
        with torch.no_grad(), context:
            return model(*inputs)

    optimizer = torch.optim.AdamW(model.parameters(), 1e-4) if work == "step" else None

    def step() -> None:
        assert optimizer
        with context:
            scores = model(*inputs).float()
            loss = (scores.logsumexp(-1) - scores[..., 0]).mean()  # cross-entropy with the first class
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    model.train(work == "step")
    return forward if work == "forward" else step


def table(rows: Sequence[Row]) -> Table:
    """Lay out rows for the terminal."""
    view = Table(title="A ratio below 1 means that we are faster", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("model", "work", "precision", "threads", "examples\n/s", "of matrix\nrate", "time /\npeer's"):
        view.add_column(column, justify="left" if column in ("model", "work", "precision") else "right", no_wrap=True)
    for row in rows:
        view.add_row(*_cells(row))
    return view


def markdown(rows: Sequence[Row], command: str) -> str:
    """Lay out rows for a document, with the command that makes them."""
    head = "| model | work | precision | threads | examples/s | of matrix rate | time / peer's (95 %) |"
    lines = [f"| {' | '.join(_cells(row))} |" for row in rows]
    return "\n".join([f"`{command}`", "", head, "|---|---|---|--:|--:|--:|--:|", *lines, ""])


def _cells(row: Row) -> list[str]:
    ratio = str(row.ratio) if row.ratio else "-"
    return [row.model, row.work, row.precision, str(row.threads), f"{row.per_second:.1f}", f"{row.share:.0%}", ratio]


def _counts(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if not part.isdecimal() or int(part) < 1:
            raise ConfigError(f"--threads {text}: {part!r} is not a number of threads; write, for instance, 1,2")
    return [int(part) for part in parts]


def _suite(
    console: Console, suite: SuiteSpec, only: str, counts: list[int], rounds: int, out: Path | None, device: str
) -> None:
    """Run the cases of a suite; see `zoo.bench.speed.suite`. The file is written after each."""
    chosen = suites.find_cases(suite.package, only)
    if not console.is_terminal:
        console.width = 120  # a pipe has no width to fold at
    total = sum(1 if case.memory else len(counts) for case in chosen)
    options = f"--rounds {rounds} --threads {','.join(map(str, counts))}{f' --only {only!r}' if only else ''}"
    options += f" --device {device}" if device != "cpu" else ""
    rows: list[suites.Row] = []
    for row in track(suites.measure(chosen, counts, rounds, device), "measuring", total=total, console=console):
        rows.append(row)
        if out:
            _save(out, suites.markdown(rows, suite.title, f"zoo bench speed --suite {suite.name} {options}"))
    console.print(suites.table(rows), markup=False)


def _planner(console: Console, count: int, of_threads: int, out: Path | None, device: str) -> None:
    """Measure the planner's regret; see `zoo.bench.speed.regret`. The file is written after each problem."""
    options = f"--problems {count} --threads {of_threads}{f' --device {device}' if device != 'cpu' else ''}"
    found: list[regret.Regret] = []
    with threads(of_threads):
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


def command(
    models: Annotated[str, typer.Option(help="Models, separated by commas.")] = "vit-small",
    peer: Annotated[
        bool, typer.Option("--peer", help="Measure the same model of its peer library too, in turns.")
    ] = False,
    batch_size: Annotated[int, typer.Option(min=1, help="Examples in a batch.")] = 8,
    work: Annotated[str, typer.Option(help="What is measured: forward, step; separated by commas.")] = ",".join(WORK),
    precision: Annotated[str, typer.Option(help="Precisions: fp32, bf16, autocast; separated by commas.")] = ",".join(
        PRECISIONS
    ),
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
    if suite == "planner":
        return _planner(console, problems, _counts(threads)[0], out, device)
    if suite != "models":
        known = registry().suites
        if found := known.get(suite):
            counts = _counts(threads)
            return _suite(console, found, only, counts if device == "cpu" else counts[:1], rounds, out, device)
        raise ConfigError(f"suite={suite!r} is not one of models, {', '.join(known.names())}, planner, startup")
    names, jobs, precisions = models.split(","), work.split(","), precision.split(",")
    counts = _counts(threads)
    measured = measure(
        names, peer=peer, batch_size=batch_size, work=jobs, precisions=precisions, thread_counts=counts, rounds=rounds
    )
    total = len(names) * len(jobs) * len(precisions) * len(counts)
    rows = list(track(measured, "measuring", total=total, console=console))
    console.print(table(rows))
    if out:
        options = f"--models {models}{' --peer' if peer else ''} --batch-size {batch_size} --rounds {rounds}"
        _save(out, markdown(rows, f"zoo bench speed {options}"))
