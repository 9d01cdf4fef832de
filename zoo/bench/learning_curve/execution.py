"""Where the trainings of a learning-curve study are computed; see `zoo.bench.study.execution`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from zoo.bench.grid.engine import Grid, Record
from zoo.bench.grid.results_store import Store
from zoo.bench.grid.worker_pool import WorkerPool
from zoo.bench.learning_curve.plan import resolve_device
from zoo.bench.learning_curve.training.run import Run
from zoo.bench.seeds.executor import SeedsTogether
from zoo.bench.study import execution
from zoo.bench.study.execution import Execution
from zoo.bench.study.progress import NoProgress
from zoo.errors import ConfigError
from zoo.processors import cores

WORK = "zoo.bench.learning_curve.training.run:execute"
SEEDS_WORK = "zoo.bench.learning_curve.training.run_seeds:execute_seeds"


@dataclass(frozen=True, kw_only=True)
class RunOptions(Execution):
    """Hold how a study is run, which has no influence on its results, but for learning rates, and rounding on a GPU.

    Args:
        lr_sweep: see `data_size`, as what is not told here.
        sweep_only: whether to end when the learning rates are chosen.
        target: test score to decide about afterwards, refused before anything is trained where it does not fit.
    """

    lr_sweep: bool | None = None
    sweep_only: bool = False
    cache: bool = False
    target: float | None = None

    def __post_init__(self) -> None:
        """Refuse to choose learning rates only and not to choose them.

        Raises:
            ConfigError: If both are asked for.
        """
        if self.sweep_only and self.lr_sweep is False:
            raise ConfigError("--sweep-only beside --no-sweep leaves nothing to do: give one of the two")


def workers_for(workers: int | None, device: str, threads: int = 1) -> int:
    """Count the processes: as many as asked for, else what the cores have room for; an accelerator is not shared."""
    if workers is not None:
        return workers
    return max(1, cores() // threads) if resolve_device(device) == "cpu" else 1


def complete(runs: Sequence[Run], store: Store, options: RunOptions, progress: NoProgress) -> list[Record]:
    """Run what the store does not hold yet, and give the records of all."""
    configs, device = [run.to_dict() for run in runs], runs[0].device
    grid = Grid(WORK, configs, store, retry_failed=options.retry_failed, shard=options.shard)
    shared = runs[0].precision.endswith("-true") and runs[0].precision != "32-true"  # a default dtype, of all threads
    if device == "cuda" and options.local and options.workers is None and not shared:
        return _seeds_at_once(grid, options, progress)
    if options.local:
        options = replace(options, workers=workers_for(options.workers, device, grid.threads))
    return execution.complete(grid, options, progress, gpus=int(device == "cuda"))


def _seeds_at_once(grid: Grid, options: RunOptions, progress: NoProgress) -> list[Record]:
    pool = WorkerPool(1, grid.threads)
    try:
        together = replace(options, executor=SeedsTogether(pool, SEEDS_WORK, grid.todo))
        return execution.complete(grid, together, progress)
    finally:
        pool.kill_workers()


def gathered(runs: Sequence[Run], store: Store, progress: NoProgress) -> list[Record]:
    """Give the records that shards have made, and say what is missing."""
    return execution.gathered(Grid(WORK, [run.to_dict() for run in runs], store), progress)


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
