"""The study `data-size`: how many training examples until self-attention beats a CNN?"""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from zoo.bench.grid.engine import SupportsSubmit
from zoo.bench.grid.shard import Shard
from zoo.bench.interruption import resumable
from zoo.bench.learning_curve.config import StudyConfig
from zoo.bench.learning_curve.contestants.recipes import BY_KIND, OPTIMIZERS
from zoo.bench.learning_curve.decide import decide
from zoo.bench.learning_curve.execution import RunOptions
from zoo.bench.learning_curve.goal import Goal
from zoo.bench.learning_curve.lineup import contestants
from zoo.bench.learning_curve.plan import SEEDS, quick
from zoo.bench.learning_curve.progress import NoProgress, Progress
from zoo.bench.learning_curve.repeat import command_for, with_threads
from zoo.bench.learning_curve.report import write_report
from zoo.bench.learning_curve.report.figure import draw
from zoo.bench.learning_curve.report.measures_table import class_table
from zoo.bench.learning_curve.report.table import accuracy_table, conclusion, missing
from zoo.bench.learning_curve.results.study import Study as Study
from zoo.bench.learning_curve.run_study import run_study
from zoo.bench.study.execution import EXECUTORS, executed_by
from zoo.bench.study.options import (
    AddressOption,
    ExecutorOption,
    RetryFailedOption,
    ShardOption,
    names_in,
    numbers_in,
)
from zoo.errors import ConfigError
from zoo.names import did_you_mean

FOLDER = "runs/data-size"

Study.table, Study.plot, Study.decision = accuracy_table, draw, decide  # they read a study: its file imports none


def data_size(
    models: Sequence[str] | str | None = None,
    data: str = "",
    sizes: Sequence[int] | None = None,
    seeds: int = SEEDS,
    *,
    modality: str = "",
    out: str | Path = FOLDER,
    workers: int | None = None,
    lr_sweep: bool | None = None,
    retry_failed: bool = False,
    cache: bool = False,
    progress: bool = True,
    executor: SupportsSubmit | None = None,
    target: float | None = None,
    label_cost: float | None = None,
    hour_cost: float | None = None,
    **options: Any,
) -> Study:
    """Train every model on every size and compare; what `out` holds already is not trained again.

    Args:
        models: any names of the zoo, in a list or separated by commas; by default those of the modality. With a tag
            (`vit-small.TAG`), `local-dir:PATH` and `hf-hub:OWNER/NAME` are fine-tuned from these weights; `probe:NAME`
            trains a linear classifier on the vectors of a frozen model. A study has the last part of a path as name.
        data: `cards`, `digits`, `folder:PATH`, `npz:PATH` or another plugin's source; by default that of the modality.
        sizes: numbers of training examples; by default a ladder that fits the data.
        seeds: trainings of each model at each size; a seed decides the subset, the weights and the order.
        modality: whose models and data are taken where none are named; by default that of the models or data named.
        out: folder of the results.
        workers: processes, by default one for each core, one in all on an accelerator; 0 for none. Each run is
            computed on one thread, or on as many as `OMP_NUM_THREADS` says, or the results in `out`; the number of
            workers changes no result; on an accelerator, where none is given, all seeds of a size are trained at once,
            which rounds sums in another way.
        lr_sweep: choose each model's learning rate on validation first, from one grid, at a middle size and on seeds
            that no study has. By default where the package keeps no rate for the data and the optimizer, as it does for
            `cards`; True sweeps anyway, False takes what is kept, else the recipe's rate.
        retry_failed: try runs again that failed for a cause of their own; a lack of memory is always tried again.
        cache: decode the files of the data first, into a file that all workers share. By default they are decoded
            while they are read, and kept where all fit in a quarter of the free memory.
        progress: whether to show progress.
        executor: that runs the trainings instead of `workers`: `concurrent.futures.ProcessPoolExecutor`, dask's,
            submitit's ... Each run seeds PyTorch's generator and sets the number of threads, so several at a time in
            one process give other numbers.
        target: test score for which the report tells the labels needed; `study.decision(target)` gives them as data.
        label_cost: money for a label, of which the report then tells the sum.
        hour_cost: money for an hour of training, the same.
        options: `steps` (most at any size), `image_size`, `precision`, `device`, `optimizer`, `augment`, `class_ratio`,
            `label_noise` of `zoo.bench.learning_curve.plan.StudyConfig`.

    Raises:
        ConfigError: If a number, name or size does not fit.
        FolderInUseError: If another process works in `out`.
        DataError: If the data or the results folder cannot be used, or a file of the report cannot be written.
    """
    known = {field.name for field in fields(StudyConfig)}
    for option in options.keys() - known:
        raise ConfigError(f"{option}={options[option]!r}: there is no such option.{did_you_mean(option, known)}")
    names, source = contestants(names_in(models) if isinstance(models, str) else models, data, modality)
    config = StudyConfig(models=names, data=source, sizes=sizes, seeds=seeds, **options)
    goal = Goal(target=target, label_cost=label_cost, hour_cost=hour_cost)
    running = RunOptions(
        workers=workers, executor=executor, lr_sweep=lr_sweep, retry_failed=retry_failed, cache=cache, target=target
    )
    study = run_study(config, Path(out), running, Progress() if progress else NoProgress())
    repeated = command_for(config, Path(out), lr_sweep) + goal.options
    write_report(study, with_threads(study, repeated), goal.decided(study))
    return study


def command(
    models: Annotated[
        str,
        typer.Option(
            help="Models, separated by commas; by default those of the modality. A name alone is trained from scratch; "
            "NAME.TAG, local-dir:PATH and hf-hub:OWNER/NAME are fine-tuned from these weights; probe:NAME trains a "
            "linear classifier on the vectors of any of these, frozen.",
            show_default=False,
        ),
    ] = "",
    data: Annotated[
        str,
        typer.Option(
            help="Source of the data: cards, digits, folder:PATH, npz:PATH, …; by default that of the modality.",
            show_default=False,
        ),
    ] = "",
    modality: Annotated[
        str,
        typer.Option(
            help="Modality whose models and data are compared, by default that of the models or data that are named; "
            "one that is unknown is refused with the list of those there are.",
            show_default=False,
        ),
    ] = "",
    sizes: Annotated[str, typer.Option(help="Numbers of training examples, separated by commas.")] = "",
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Random seeds (trainings) of each model at each size: 3, with --quick 2.", show_default=False
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results; a study that was stopped resumes from it.")] = Path(
        FOLDER
    ),
    workers: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Worker processes; by default one for each core, one on a GPU. They do not change results: each run "
            "has one thread, or OMP_NUM_THREADS, or as many as the runs in --out.",
        ),
    ] = None,
    fast: Annotated[bool, typer.Option("--quick", help="A smaller study, of about 90 seconds on two cores.")] = False,
    image_size: Annotated[
        int | None, typer.Option(help="Height and width of the images, pixels; by default the source's own.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Maximum number of optimizer steps at any size.")] = None,
    precision: Annotated[
        str,
        typer.Option(
            help="Precision: 32-true, bf16-mixed, …, or auto: that of the runs in --out, else the faster one."
        ),
    ] = "auto",
    device: Annotated[str, typer.Option(help="Device: auto, cpu, cuda, mps.")] = "auto",
    optimizer: Annotated[
        str | None,
        typer.Option(
            help=f"Optimizer of all models: {', '.join(OPTIMIZERS[:-1])}; or {BY_KIND}, the recipe that each kind of "
            "model had in studies before.",
            show_default=OPTIMIZERS[0],
        ),
    ] = None,
    augment: Annotated[bool, typer.Option("--augment", help="Augment training images by shifts and flips.")] = False,
    class_ratio: Annotated[
        str,
        typer.Option(
            help="Unequal classes in training and validation: a number for each class, in their order, as 8,4,2,1; or "
            "one number R, with which the first class has R times the examples of the last and those between fall "
            "exponentially. The test stays as it is.",
            show_default=False,
        ),
    ] = "",
    label_noise: Annotated[
        float,
        typer.Option(
            help="Wrong labels in training and validation: each is replaced by another class with this probability, as "
            "0.1. The test stays as it is.",
            show_default=False,
        ),
    ] = 0.0,
    lr_sweep: Annotated[
        bool | None,
        typer.Option(
            "--lr-sweep/--no-sweep",
            help="Choose each model's learning rate on validation first, or not; by default where the package keeps "
            "none, which it does for cards.",
            show_default=False,
        ),
    ] = None,
    retry_failed: RetryFailedOption = False,
    cache: Annotated[
        bool, typer.Option("--cache", help="Decode the files of the data first, into a file that all workers share.")
    ] = False,
    executor: ExecutorOption = EXECUTORS[0],
    address: AddressOption = None,
    shard: ShardOption = None,
    sweep_only: Annotated[
        bool, typer.Option("--sweep-only", help="End when the learning rates are chosen, before shards are run.")
    ] = False,
    target: Annotated[
        float | None,
        typer.Option(
            help="Test score, as 0.95: tell how many more labels it takes, with which model, in which rounds.",
            show_default=False,
        ),
    ] = None,
    label_cost: Annotated[
        float | None, typer.Option(help="Money for a label, for the cost of --target.", show_default=False)
    ] = None,
    hour_cost: Annotated[
        float | None, typer.Option(help="Money for an hour of training, for the cost of --target.", show_default=False)
    ] = None,
) -> None:
    """How many training examples until self-attention beats a CNN, on your data or on the default?"""
    names, source = contestants(names_in(models) or None, data, modality)
    config = StudyConfig(
        models=names, data=source, sizes=numbers_in(sizes, "--sizes") if sizes else None, seeds=seeds,
        image_size=image_size, steps=steps, precision=precision, device=device, optimizer=optimizer, augment=augment,
        class_ratio=class_ratio, label_noise=label_noise,
    )  # fmt: skip
    config = quick(config) if fast else config
    goal = Goal(target=target, label_cost=label_cost, hour_cost=hour_cost)
    console = Console()
    options = RunOptions(
        workers=workers, ray=executed_by(executor, address), address=address,
        shard=Shard.parse(shard) if shard else None, lr_sweep=lr_sweep, sweep_only=sweep_only,
        retry_failed=retry_failed, cache=cache, target=target,
    )  # fmt: skip
    with resumable(out, console):
        study = run_study(config, out, options, Progress(console))
    if sweep_only:
        return
    if options.shard:
        console.print(
            f"Shard {shard} is done. When all are, the report: {command_for(config, out, lr_sweep)}{goal.options}",
            soft_wrap=True,
        )
        raise typer.Exit(1 if study.failures else 0)
    console.print(study.table())
    if study.class_scores:
        console.print(class_table(study))
    decided = goal.decided(study)
    for line in (*decided, *conclusion(study)):
        console.print(line, style="bold", markup=False)
    console.print(study.data.description.replace("`", ""), style="dim", markup=False)
    for line in missing(study):
        console.print(line, style="yellow", markup=False)
    repeated = command_for(config, out, lr_sweep) + goal.options
    write_report(study, with_threads(study, repeated), decided)
    console.print(f"Report: {out / 'report.html'}", soft_wrap=True)
    if missing(study):
        raise typer.Exit(1)
