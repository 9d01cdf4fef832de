"""Where the runs of a study are computed: in processes here, as one shard of several machines, or on a Ray cluster."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from zoo.bench.grid.engine import Grid, Record, SupportsSubmit
from zoo.bench.grid.ray_executor import RayExecutor
from zoo.bench.grid.results_store import Store
from zoo.bench.grid.shard import Shard, check_count, shards_in, unfinished
from zoo.bench.learning_curve.plan import resolve_device
from zoo.bench.learning_curve.progress import NoProgress
from zoo.bench.learning_curve.run import Run
from zoo.errors import ConfigError
from zoo.names import counted
from zoo.processors import cores

WORK = "zoo.bench.learning_curve.run:execute"
EXECUTORS = ("local", "ray")


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Hold how a study is run, which has no influence on its results, but for the learning rates.

    Args:
        workers: see `data_size`, as what is not told here.
        executor: object that runs the trainings.
        ray: whether a Ray cluster runs them.
        address: of its head; see `RayExecutor`.
        shard: the part of the runs that is computed here.
        sweep_only: whether to end when the learning rates are chosen.
        target: test score to decide about afterwards, refused before anything is trained where it does not fit.
    """

    workers: int | None = None
    executor: SupportsSubmit | None = None
    ray: bool = False
    address: str | None = None
    shard: Shard | None = None
    lr_sweep: bool | None = None
    sweep_only: bool = False
    retry_failed: bool = False
    cache: bool = False
    target: float | None = None


def executed_by(executor: str, address: str | None) -> bool:
    """Tell whether a Ray cluster runs the study.

    Raises:
        ConfigError: If there is no such executor, or an address beside another one.
    """
    if executor not in EXECUTORS:
        raise ConfigError(f"--executor {executor}: it is one of {', '.join(EXECUTORS)}")
    if address and executor != "ray":
        raise ConfigError(f"--address {address} is of a Ray cluster: add --executor ray")
    return executor == "ray"


def folder_of(study: Path, shard: Shard | None) -> Path:
    """Give the folder to which results are added, and which is locked meanwhile.

    Raises:
        ConfigError: If shards of another number have begun.
    """
    if shard is None:
        return study
    check_count(shard, study)
    return shard.folder(study)


def results_in(study: Path, shard: Shard | None) -> Store:
    """Open the results: a shard adds to its own and reads the study's, a study reads those of all shards."""
    others = [study] if shard else [each.folder(study) for each in shards_in(study)]
    return Store(shard.folder(study) if shard else study, others)


def workers_for(workers: int | None, device: str, threads: int = 1) -> int:
    """Count the processes: as many as asked for, else what the cores have room for; an accelerator is not shared."""
    if workers is not None:
        return workers
    return max(1, cores() // threads) if resolve_device(device) == "cpu" else 1


def complete(runs: Sequence[Run], store: Store, options: RunOptions, progress: NoProgress) -> list[Record]:
    """Run what the store does not hold yet, and give the records of all."""
    configs = [run.to_dict() for run in runs]
    grid = Grid(WORK, configs, store, retry_failed=options.retry_failed, shard=options.shard)
    if grid.failed:
        failed, again = counted(grid.failed, "run"), "is" if grid.failed == 1 else "are"
        progress.say(f"{failed} failed before and {again} not tried again; --retry-failed repeats what failed")
    if grid.message:
        progress.say(grid.message)
    own = options.executor is None and not options.ray
    workers = workers_for(options.workers, runs[0].device, grid.threads) if own else options.workers
    todo = [Run(**config) for config in grid.todo]
    mine = [Run(**config) for config in grid.mine]
    with (
        _executor(options, grid, runs[0].device) as executor,
        closing(grid.run(executor, workers)) as results,
        progress.tracking(mine, todo, workers) as advance,
    ):
        for config, result in results:
            advance(Run(**config), result)
    return grid.records


def gathered(runs: Sequence[Run], store: Store, progress: NoProgress) -> list[Record]:
    """Give the records that shards have made, and say what is missing; nothing is run, since a shard may be at it."""
    grid = Grid(WORK, [run.to_dict() for run in runs], store)
    settled = [key for key in grid.configs if store.settled(key)]
    for shard, left in unfinished(shards_in(store.folder), grid.configs, settled).items():
        progress.say(
            f"shard {shard}: {counted(left, 'run')} missing; the same command with --shard {shard} does "
            f"{'it' if left == 1 else 'them'}"
        )
    return grid.records


def check_pilots(pilots: Sequence[Run], store: Store, options: RunOptions) -> None:
    """Refuse a shard whose study has no learning rates yet: they are chosen once, for all shards.

    Raises:
        ConfigError: If a pilot run is not done.
    """
    if options.shard and Grid(WORK, [run.to_dict() for run in pilots], store).todo:
        raise ConfigError(
            f"--shard {options.shard}: learning rates are chosen first, once for all shards: run the same command with "
            "--sweep-only in place of --shard, then the shards; or give all of them --no-sweep"
        )


@contextmanager
def _executor(options: RunOptions, grid: Grid, device: str) -> Iterator[SupportsSubmit | None]:
    """Enter a Ray cluster where one is asked for and there is something to do."""
    if not options.ray:
        yield options.executor
    elif not grid.todo:
        yield None
    else:
        with RayExecutor(options.address, grid.threads, gpus=int(device == "cuda")) as executor:
            yield executor
