"""The studies `zoo bench gat-cora|gat-citeseer|gat-pubmed`: a published protocol, seed by seed, beside its figure.

A run is a pure function of its configuration. Finished ones are kept in a file that only grows: a stopped study goes
on where it was.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track

from zoo.bench.pool import cores, run_all
from zoo.bench.store import Store, key_of
from zoo.errors import ConfigError

WORK = "zoo.plugins.graph.citations:execute"


@dataclass(frozen=True)
class Protocol:
    """Hold what arXiv:1710.10903 says of a data set: sec. 3.3, table 2.

    Args:
        accuracy: mean over 100 seeds, in percent.
        deviation: of it.
        learning_rate: of Adam.
        weight_decay: of all parameters, as L2.
    """

    accuracy: float
    deviation: float
    learning_rate: float = 0.005
    weight_decay: float = 5e-4


PUBLISHED = {
    "cora": Protocol(83.0, 0.7),
    "citeseer": Protocol(72.5, 0.7),
    "pubmed": Protocol(79.0, 0.3, 0.01, 1e-3),
}
PATIENCE = 100
"""Epochs in which neither loss nor accuracy of validation is better, until a training ends."""


@dataclass(frozen=True)
class Run:
    """Describe one training completely; its hash is its name."""

    model: str
    data: str
    fingerprint: str
    seed: int
    epochs: int
    patience: int
    learning_rate: float
    weight_decay: float


def execute(config: Mapping[str, Any]) -> dict[str, Any]:
    """Train one model as the paper does, and give its accuracy on the test nodes."""
    import torch

    import zoo

    run = Run(**config)
    begun = time.perf_counter()
    torch.manual_seed(run.seed)
    corpus = _corpus(run.data, run.model)
    model: Any = zoo.create(run.model, **corpus.overrides())
    epochs = fit(model, corpus, run)
    scores = corpus.score(model, "test", 1)
    return {"accuracy": scores["accuracy"], "epochs": epochs, "seconds": time.perf_counter() - begun}


def fit(model: Any, corpus: Any, run: Run) -> int:
    """Train until neither loss nor accuracy of validation is better for a while; give the epochs.

    What stays are the weights of the last epoch at which both were at least as good as ever before.
    """
    import torch

    optimizer = torch.optim.Adam(model.parameters(), lr=run.learning_rate, weight_decay=run.weight_decay)
    (batch,) = corpus.held_out("train", 1)
    best: dict[str, Any] = {}
    highest, lowest, waited, epoch = 0.0, math.inf, 0, 0
    while epoch < run.epochs and waited < run.patience:
        model.train()
        optimizer.zero_grad()
        corpus.loss(model(*batch.inputs), batch.target, 0.0).backward()
        optimizer.step()
        epoch += 1
        scores = corpus.score(model, "validation", 1)
        accuracy, loss = scores["accuracy"], -scores["-loss"]
        if accuracy >= highest and loss <= lowest:
            best = {key: value.clone() for key, value in model.state_dict().items()}
        waited = 0 if accuracy >= highest or loss <= lowest else waited + 1
        highest, lowest = max(highest, accuracy), min(lowest, loss)
    if best:
        model.load_state_dict(best)
    return epoch


@cache
def _corpus(data: str, model: str) -> Any:
    """Open the data once in each process."""
    import zoo
    from zoo.training.corpus import open_corpus

    return open_corpus(data, zoo.info(model))


def study(name: str) -> Callable[..., None]:
    """Make the command for a data set."""
    protocol = PUBLISHED[name]

    def command(
        data: Annotated[str, typer.Option(help=f"Folder with ind.{name}.x and the like; nothing is downloaded.")],
        seeds: Annotated[int, typer.Option(min=1, help="Trainings.")] = 100,
        model: Annotated[str, typer.Option(help="Another network, such as gatv2-cora.")] = f"gat-{name}",
        out: Annotated[Path | None, typer.Option(help=f"Folder of the results. [default: runs/gat-{name}]")] = None,
        epochs: Annotated[int, typer.Option(min=1, help="At most.")] = 100_000,
        patience: Annotated[int, typer.Option(min=1, help="Epochs without a better validation.")] = PATIENCE,
        workers: Annotated[int | None, typer.Option(min=0, help="Processes; one for each core.")] = None,
    ) -> None:
        """Train as arXiv:1710.10903 does, and print mean and deviation beside those published for its own network."""
        console = Console()
        source = f"planetoid:{name}:{Path(data).expanduser()}"
        mark = _corpus(source, model).fingerprint
        rates = {"learning_rate": protocol.learning_rate, "weight_decay": protocol.weight_decay}
        runs = [Run(model, source, mark, seed, epochs, patience, **rates) for seed in range(seeds)]
        folder = out or Path("runs") / f"gat-{name}"
        try:
            records = completed(runs, Store(folder), workers, console)
        except KeyboardInterrupt:
            console.print(f"Stopped. Finished runs are in {folder}: the same command goes on from there.")
            raise typer.Exit(130) from None
        for line in told(model, name, records):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        if any("error" in record for record in records):
            raise typer.Exit(1)

    return command


gat_cora, gat_citeseer, gat_pubmed = (study(name) for name in PUBLISHED)


def completed(runs: Sequence[Run], store: Store, workers: int | None, console: Console) -> list[Mapping[str, Any]]:
    """Run what is not done yet, each result on the disk before the next is waited for; give the records of all."""
    if store.message:
        console.print(store.message, markup=False)
    keys = [key_of(asdict(run)) for run in runs]
    todo = [asdict(run) for run, key in zip(runs, keys, strict=True) if not store.settled(key)]
    if len(todo) < len(runs):
        console.print(f"{len(runs) - len(todo)} of {len(runs)} trainings were done before.")
    crew = min(len(todo), cores()) if workers is None else workers
    with closing(run_all(WORK, todo, crew)) as results:
        for config, result in track(results, "training", total=len(todo), console=console, disable=not todo):
            store.add(key_of(config), config, result)
    return [store.records[key] for key in keys]


def told(model: str, name: str, records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say what came out, in lines.

    Raises:
        ConfigError: If no training succeeded.
    """
    good = [100 * record["accuracy"] for record in records if "error" not in record]
    failed = [record for record in records if "error" in record]
    if not good:
        raise ConfigError(f"none of {len(records)} trainings of {model!r} succeeded: {failed[0]['error']}")
    spread = f" ± {stdev(good):.1f}" if len(good) > 1 else ""
    published = PUBLISHED[name]
    own = "published:" if model == f"gat-{name}" else f"gat-{name}, as published, for comparison:"
    lines = [
        f"{model} on {name}: {mean(good):.1f}{spread} % of the test nodes, {len(good)} seeds",
        f"{own} {published.accuracy:.1f} ± {published.deviation:.1f} %, 100 seeds (arXiv:1710.10903, table 2)",
    ]
    return lines + [f"seed {record['config']['seed']} failed: {record['error']}" for record in failed]
