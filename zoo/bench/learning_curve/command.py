"""The study `data-size`: how many training examples until self-attention beats a CNN?"""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from zoo.bench.decision.cost import Prices
from zoo.bench.grid.engine import SupportsSubmit
from zoo.bench.grid.results_store import Store
from zoo.bench.grid.shard import Shard, shards_in
from zoo.bench.grid.threads import DEFAULT, VARIABLE, threads_of
from zoo.bench.interruption import resumable
from zoo.bench.learning_curve.config import StudyConfig
from zoo.bench.learning_curve.contestants import contestants
from zoo.bench.learning_curve.decide import check_target, decide
from zoo.bench.learning_curve.execution import RunOptions, check_pilots, complete, gathered
from zoo.bench.learning_curve.plan import SEEDS, open_data, plan, quick
from zoo.bench.learning_curve.progress import NoProgress, Progress
from zoo.bench.learning_curve.recipes import BY_KIND, OPTIMIZERS
from zoo.bench.learning_curve.report import write_report
from zoo.bench.learning_curve.report.figure import draw
from zoo.bench.learning_curve.report.table import accuracy_table, conclusion, missing
from zoo.bench.learning_curve.results import Study as Study
from zoo.bench.learning_curve.results import with_costs
from zoo.bench.learning_curve.run import Run
from zoo.bench.learning_curve.tuning import Budget, Tuning, chosen, described, kept, pilot_budget, pilot_runs
from zoo.bench.study.execution import EXECUTORS, executed_by, folder_of, results_in
from zoo.bench.study.options import (
    AddressOption,
    ExecutorOption,
    RetryFailedOption,
    ShardOption,
    names_in,
    numbers_in,
)
from zoo.data.corpus_options import with_options
from zoo.errors import ConfigError
from zoo.locking import locked
from zoo.names import counted, did_you_mean

FOLDER = "runs/data-size"
_IDENTITY = ("model", "data", "optimizer", "fingerprint", "learning_rate")

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
        models: any names of the zoo, in a list or separated by commas; by default those of the modality.
        data: `cards`, `digits`, `folder:PATH`, `npz:PATH` or another plugin's source; by default that of the modality.
        sizes: numbers of training examples; by default a ladder that fits the data.
        seeds: trainings of each model at each size; a seed decides the subset, the weights and the order.
        modality: whose models and data are taken where none are named; by default that of the models or data named.
        out: folder of the results.
        workers: processes, by default one for each core, one in all on an accelerator; 0 for none. Each run is
            computed on one thread, or on as many as `OMP_NUM_THREADS` says, or the results in `out`; the number of
            workers changes no result.
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
        options: `steps` (most at any size), `image_size`, `precision`, `device`, `optimizer`, `augment` of
            `zoo.bench.learning_curve.plan.StudyConfig`.

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
    _check_prices(target, label_cost, hour_cost)
    running = RunOptions(
        workers=workers, executor=executor, lr_sweep=lr_sweep, retry_failed=retry_failed, cache=cache, target=target
    )
    study = run_study(config, Path(out), running, Progress() if progress else NoProgress())
    decided = _decided(study, target, label_cost, hour_cost)
    repeated = command_for(config, Path(out), lr_sweep) + _asked(target, label_cost, hour_cost)
    write_report(study, _repeating(study, repeated), decided)
    return study


def run_study(config: StudyConfig, folder: Path, options: RunOptions, progress: NoProgress) -> Study:
    """Plan, and run what is not done yet; where shards have begun, give what they have done.

    Raises:
        FolderInUseError: If another process works in the folder.
    """
    with locked(folder_of(folder, options.shard)):
        return _run_study(config, folder, options, progress)


def _run_study(config: StudyConfig, folder: Path, options: RunOptions, progress: NoProgress) -> Study:
    store = results_in(folder, options.shard)
    if options.cache:
        for corpus in {id(each): each for each in open_data(config).values()}.values():
            with_options(corpus, cache=True)
    study, runs = plan(config, folder, store.records.values())
    if options.target is not None:
        check_target(study.data, options.target)
    for line in filter(None, (store.message, *study.data.notes)):
        progress.say(line)
    study, runs = _tuned(study, runs, store, options, progress)
    if options.sweep_only:
        return study
    if others := _trained_otherwise(runs, store):
        progress.say(
            f"{counted(others, 'run')} in {folder} of these models {'is' if others == 1 else 'are'} not used: the data "
            "or the learning rates were others. --no-sweep takes the recipe's rate"
        )
    if options.shard is None and shards_in(folder):
        records = gathered(runs, store, progress)
    else:
        records = complete(runs, store, options, progress)
    return replace(study, records=records, models=[with_costs(entry, records) for entry in study.models])


def _check_prices(target: float | None, label_cost: float | None, hour_cost: float | None) -> None:
    """Refuse prices that do not fit before anything is trained."""
    if Prices(label=label_cost, hour=hour_cost).asked and target is None:
        given = f"label_cost={label_cost}" if label_cost is not None else f"hour_cost={hour_cost}"
        raise ConfigError(f"{given} without a target: name the test score that labels are needed for, as --target 0.95")


def _asked(target: float | None, label_cost: float | None, hour_cost: float | None) -> str:
    options = {"--target": target, "--label-cost": label_cost, "--hour-cost": hour_cost}
    return "".join(f" {name} {value:g}" for name, value in options.items() if value is not None)


def _decided(study: Study, target: float | None, label_cost: float | None, hour_cost: float | None) -> Sequence[str]:
    if target is None:
        return ()
    return decide(study, target, label_cost=label_cost, hour_cost=hour_cost).lines


def command_for(config: StudyConfig, folder: Path, lr_sweep: bool | None = None) -> str:
    """Write the command that runs the same study."""
    seeds = SEEDS if config.seeds is None else config.seeds
    words = ["zoo", "bench", "data-size", "--models", ",".join(config.models), "--data", config.data]
    words += ["--sizes", ",".join(map(str, config.sizes))] if config.sizes else []
    words += ["--seeds", str(seeds), "--out", str(folder)]
    words += ["--steps", str(config.steps)] if config.steps else []
    words += ["--image-size", str(config.image_size)] if config.image_size else []
    words += ["--precision", config.precision] if config.precision != "auto" else []
    words += ["--device", config.device] if config.device != "auto" else []
    words += ["--optimizer", config.optimizer] if config.optimizer else []
    words += ["--augment"] if config.augment else []
    words += [] if lr_sweep is None else ["--lr-sweep" if lr_sweep else "--no-sweep"]
    return shlex.join(words)


def _repeating(study: Study, command: str) -> str:
    """Write the number of threads in front of a command, where all runs of its study had another than the default."""
    threads = {threads_of(record) for record in study.records}
    return f"{VARIABLE}={threads.pop()} {command}" if len(threads) == 1 and threads != {DEFAULT} else command


def _tuned(
    study: Study, runs: Sequence[Run], store: Store, options: RunOptions, progress: NoProgress
) -> tuple[Study, list[Run]]:
    """Give the models the learning rates that the package keeps for them, and choose those of the others."""
    firsts = {run.model: run for run in runs}
    free = all(entry.recipe.tuned for entry in study.models)
    own = pilot_budget(study.steps, study.seeds)
    known = {model: kept(run, own.steps) for model, run in firsts.items()} if free and not options.lr_sweep else {}
    found: dict[str, Tuning] = {model: tuning for model, tuning in known.items() if tuning}
    if found:
        progress.say(described(found))
    others = [run for model, run in firsts.items() if model not in found]
    if others and (free if options.lr_sweep is None else options.lr_sweep):
        found |= _swept(others, pilot_budget(study.steps, study.seeds, found.values()), store, options, progress)
    models = [entry.tuned(found.get(entry.name)) for entry in study.models]
    rates = {entry.name: entry.learning_rate for entry in models}
    return replace(study, models=models), [replace(run, learning_rate=rates[run.model]) for run in runs]


def _trained_otherwise(runs: Iterable[Run], store: Store) -> int:
    """Count the finished runs that a user may believe to go on with: of the same models, on other data or rates."""
    wanted = {(run.model, run.data, run.optimizer): (run.fingerprint, run.learning_rate) for run in runs}
    finished = (record["config"] for record in store.records.values() if "error" not in record)
    given = [tuple(map(run.get, _IDENTITY)) for run in finished if not run.get("pilot")]
    return sum(wanted.get(which[:3], which[3:]) != which[3:] for which in given)


def _swept(
    runs: Sequence[Run], budget: Budget, store: Store, options: RunOptions, progress: NoProgress
) -> dict[str, Tuning]:
    """Choose the learning rate of each model by pilot runs."""
    pilots = pilot_runs(runs, budget)
    check_pilots(pilots, store, options)
    progress.say(
        f"Learning rates are chosen first, on validation: {len(pilots)} runs at {budget.size:,} examples, the same "
        "rates for each model; --no-sweep leaves that out."
    )
    found = chosen(complete(pilots, store, replace(options, shard=None), progress))
    if found:
        progress.say(described(found))
    for model in {run.model: run for run in runs if run.model not in found}:
        progress.say(f"Every pilot run of {model} failed: it takes the recipe's learning rate.")
    return found


def command(
    models: Annotated[
        str, typer.Option(help="Models, separated by commas; by default those of the modality.", show_default=False)
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
            help="Worker processes; by default one for each core, one on a GPU. They do not change results: each run "
            "has one thread, or OMP_NUM_THREADS, or as many as the runs in --out."
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
    )  # fmt: skip
    config = quick(config) if fast else config
    _check_prices(target, label_cost, hour_cost)
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
            f"Shard {shard} is done. When all are, the report: {command_for(config, out, lr_sweep)}", soft_wrap=True
        )
        raise typer.Exit(1 if study.failures else 0)
    console.print(study.table())
    decided = _decided(study, target, label_cost, hour_cost)
    for line in (*decided, *conclusion(study)):
        console.print(line, style="bold", markup=False)
    console.print(study.data.description.replace("`", ""), style="dim", markup=False)
    for line in missing(study):
        console.print(line, style="yellow", markup=False)
    repeated = command_for(config, out, lr_sweep) + _asked(target, label_cost, hour_cost)
    write_report(study, _repeating(study, repeated), decided)
    console.print(f"Report: {out / 'report.html'}", soft_wrap=True)
    if missing(study):
        raise typer.Exit(1)
