"""The studies `zoo bench gat-cora|gat-citeseer|gat-pubmed|gat-ppi|graph-zinc`: a published protocol, seed by seed.

A run is a pure function of its configuration and its number of threads. Finished ones are kept in a file that only
grows: a stopped study goes on where it was.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import Annotated, Any

import typer
from rich.console import Console

from zoo import ConfigError
from zoo.bench import resumable, run_grid

WORK = "zoo.plugins.graph.studies.published_results:execute"


@dataclass(frozen=True)
class Protocol:
    """The training protocol and the result that a paper publishes for a data set.

    Args:
        data: name of the data source.
        files: an example of the files in its folder, for help texts.
        published: mean and standard deviation, as printed.
        network: model of the published result: one of the zoo's, or the paper's own.
        where: paper and table.
        learning_rate: of Adam.
        weight_decay: L2, of all parameters.
        batch_size: graphs of a step.
        score: metric on the test set, see `zoo.plugins.graph.data.metrics`.
        seeds: of the published mean.
        fit: training loop, a key of `FITS` in `training_protocols.py`.
        patience: epochs without a better validation score before training stops or the learning rate falls.
        epochs: at most.
        model: name in the zoo; by default that of the study.
        options: keywords of `zoo.create`.
    """

    data: str
    files: str
    published: str
    network: str
    where: str = "arXiv:1710.10903, table 2"
    learning_rate: float = 0.005
    weight_decay: float = 5e-4
    batch_size: int = 1
    score: str = "accuracy"
    seeds: int = 100
    fit: str = "patience"
    patience: int = 100
    epochs: int = 100_000
    model: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


PUBLISHED = {
    "gat-cora": Protocol("planetoid:cora", "ind.cora.x", "83.0 ± 0.7", "gat-cora"),
    "gat-citeseer": Protocol("planetoid:citeseer", "ind.citeseer.x", "72.5 ± 0.7", "gat-citeseer"),
    "gat-pubmed": Protocol(
        "planetoid:pubmed", "ind.pubmed.x", "79.0 ± 0.3", "gat-pubmed", learning_rate=0.01, weight_decay=1e-3
    ),
    "gat-ppi": Protocol(
        "ppi",
        "raw/train_graph.json",
        "97.3 ± 0.2",
        "gat-ppi",
        "arXiv:1710.10903, table 3",
        weight_decay=0.0,
        batch_size=2,
        score="f1",
        seeds=10,
    ),
    "graph-zinc": Protocol(
        "zinc",
        "raw/train.pickle",
        "0.226 ± 0.014",
        "GraphTransformer with batch norm",
        "arXiv:2012.09699, table 1",
        learning_rate=7e-4,
        weight_decay=0.0,
        batch_size=128,
        score="-mae",
        seeds=4,
        fit="plateau",
        patience=15,
        epochs=1000,
        model="graph-small",
        options={"depth": 10, "num_heads": 8, "pool": "mean", "position": "laplacian", "position_dim": 8},
    ),
}
SHOWN = {
    "accuracy": ("{:.1f}", 100, "% of the test nodes"),
    "f1": ("{:.1f}", 100, "% F1 over all labels of the test nodes"),
    "-mae": ("{:.3f}", -1, "mean absolute error"),
}
"""Metric to format, factor and description."""


@dataclass(frozen=True)
class Run:
    """The configuration of one training: everything that decides its result."""

    model: str
    data: str
    fingerprint: str
    seed: int
    epochs: int
    patience: int
    learning_rate: float
    weight_decay: float
    batch_size: int = 1
    score: str = "accuracy"
    fit: str = "patience"
    options: Mapping[str, Any] = field(default_factory=dict)


def execute(config: Mapping[str, Any]) -> dict[str, Any]:
    """Train one model as the paper does, and give its score on the test nodes."""
    import torch

    import zoo
    from zoo.plugins.graph.studies.training_protocols import FITS

    run = Run(**config)
    begun = time.perf_counter()
    torch.manual_seed(run.seed)
    corpus = _corpus(run.data, run.model)
    model: Any = zoo.create(run.model, **corpus.overrides() | dict(run.options))
    epochs = FITS[run.fit](model, corpus, run)
    scores = corpus.score(model, "test", run.batch_size)
    return {run.score: scores[run.score], "epochs": epochs, "seconds": time.perf_counter() - begun}


@cache
def _corpus(data: str, model: str) -> Any:
    """Open the data once in each process."""
    import zoo
    from zoo.data import open_corpus

    return open_corpus(data, zoo.info(model))


def study(name: str) -> Callable[..., None]:
    """Make the command for a data set."""
    protocol = PUBLISHED[name]
    own = protocol.model or name

    def command(
        data: Annotated[str, typer.Option(help=f"Folder with {protocol.files} and the like; nothing is downloaded.")],
        seeds: Annotated[int, typer.Option(min=1, help="Number of random seeds (trainings).")] = protocol.seeds,
        model: Annotated[str, typer.Option(help="Model to train, such as gatv2-cora.")] = own,
        out: Annotated[Path | None, typer.Option(help=f"Folder of the results. [default: runs/{name}]")] = None,
        epochs: Annotated[int, typer.Option(min=1, help="Maximum number of epochs.")] = protocol.epochs,
        patience: Annotated[
            int, typer.Option(min=1, help="Early stopping: epochs without improvement on the validation data.")
        ] = protocol.patience,
        workers: Annotated[
            int | None,
            typer.Option(
                min=0,
                help="Worker processes; by default one for each core. They do not change results: each training has "
                "one thread, or OMP_NUM_THREADS, or as many as those in --out.",
            ),
        ] = None,
    ) -> None:
        """Train by the protocol of the paper, and print mean and standard deviation beside the published ones."""
        console = Console()
        source = f"{protocol.data}:{Path(data).expanduser()}"
        mark = _corpus(source, model).fingerprint
        p = protocol
        rest = (p.learning_rate, p.weight_decay, p.batch_size, p.score, p.fit, p.options)
        runs = [Run(model, source, mark, seed, epochs, patience, *rest) for seed in range(seeds)]
        folder = out or Path("runs") / name
        with resumable(folder, console):
            records = run_grid(WORK, map(asdict, runs), folder, workers=workers, unit="trainings")
        for line in summary_lines(model, name, records):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        if any("error" in record for record in records):
            raise typer.Exit(1)

    return command


gat_cora, gat_citeseer, gat_pubmed, gat_ppi, graph_zinc = (study(name) for name in PUBLISHED)


def summary_lines(model: str, name: str, records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Write mean and standard deviation beside the published ones, and the failed trainings, a line each.

    Raises:
        ConfigError: If no training succeeded.
    """
    protocol = PUBLISHED[name]
    form, factor, what = SHOWN[protocol.score]
    good = [factor * record[protocol.score] for record in records if "error" not in record]
    failed = [record for record in records if "error" in record]
    if not good:
        raise ConfigError(f"no training of {model!r} succeeded, of {len(records)}: {failed[0]['error']}")
    numbers = " ± ".join(form.format(number) for number in (mean(good), *([stdev(good)] if len(good) > 1 else [])))
    own = "published" if model == protocol.network else f"{protocol.network}, as published, for comparison"
    lines = [
        f"{model} by the protocol of {name}: {numbers} {what}, {len(good)} seed{'s' * (len(good) != 1)}",
        f"{own}: {protocol.published} {what}, {protocol.seeds} seeds ({protocol.where})",
    ]
    return lines + [f"seed {record['config']['seed']} failed: {record['error']}" for record in failed]
