"""`zoo bench speed --models`: throughput of any model by name, and the ratio to the same model of its peer library."""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import torch
from rich.table import Table
from torch import nn

from zoo.bench.grid.engine import Record
from zoo.bench.speed.stored import here
from zoo.bench.speed.timing import Spread, in_turns, matrix_rate
from zoo.core import flops
from zoo.errors import ConfigError
from zoo.factory import create
from zoo.registry.entry_loading import load

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


def configurations(
    models: Sequence[str],
    *,
    peer: bool = False,
    batch_size: int = 8,
    work: Sequence[str] = WORK,
    precisions: Sequence[str] = PRECISIONS,
    thread_counts: Sequence[int] = (1, 2),
    rounds: int = 15,
) -> list[dict[str, Any]]:
    """List the measurements of models, each piece of work for each precision and number of threads.

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
        if create.info(model).peer is None and peer:
            raise ConfigError(f"{model!r} has no peer to compare with; without --peer it is timed alone")
    same = {"peer": peer, "batch_size": batch_size, "rounds": rounds, **here()}
    return [
        {**same, "model": model, "precision": precision, "threads": count, "work": each}
        for model in models
        for precision in precisions
        for count in thread_counts
        for each in work
    ]


def execute(config: Mapping[str, Any]) -> dict[str, Any]:
    """Measure a model: the work of the grid."""
    asked = {name: config[name] for name in ("work", "precision", "peer", "batch_size", "rounds")}
    return measure(config["model"], **asked)


def rows_of(records: Iterable[Record]) -> list[Row]:
    """Make the rows of a table of the stored measurements that succeeded, each model by precision and threads."""
    return [_row_of(record["config"], record) for record in records if "error" not in record]


def _row_of(config: Mapping[str, Any], record: Record) -> Row:
    ratio = Spread(*record["ratio"]) if "ratio" in record else None
    what = (config["model"], config["work"], config["precision"], config["threads"])
    return Row(*what, record["per_second"], record["share"], ratio)


def measure(name: str, *, work: str, precision: str, peer: bool, batch_size: int, rounds: int) -> dict[str, Any]:
    """Time a model, on the threads that there are; see `configurations`."""
    ours = create.create(name)
    theirs = load(create.info(name), create.info(name).peer)(ours) if peer else ours
    inputs = create.example(name, batch_size)
    operations = flops.count(ours.eval(), *inputs).total * (STEP_OVER_FORWARD if work == "step" else 1)
    run_ours, run_theirs = (_job(model, inputs, work, precision) for model in (ours, theirs))
    mine, other = in_turns(run_ours, run_theirs if peer else lambda: None, rounds)
    typical = Spread.of(mine).median
    rate = matrix_rate(torch.float32 if precision == "fp32" else torch.bfloat16)
    found = {"per_second": batch_size / typical, "share": operations / typical / rate}
    return found | ({"ratio": astuple(Spread.of([a / b for a, b in zip(mine, other, strict=True)]))} if peer else {})


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
