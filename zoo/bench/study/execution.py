"""Where the runs of a study are computed: in processes here, as one shard of several machines, or on a Ray cluster."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from zoo.bench.grid.engine import Grid, Record, SupportsSubmit, workers_for
from zoo.bench.grid.ray_executor import RayExecutor
from zoo.bench.grid.results_store import Store
from zoo.bench.grid.shard import Shard, check_count, shards_in
from zoo.bench.study.progress import NoProgress
from zoo.errors import ConfigError
from zoo.names import counted

EXECUTORS = ("local", "ray")


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Hold how the runs of a study are computed, which has no influence on their results.

    Args:
        workers: processes, by default as many as the cores have room for; 0 for none.
        executor: object that runs them instead.
        ray: whether a Ray cluster runs them.
        address: of its head; see `RayExecutor`.
        shard: the part of the runs that is computed here.
        retry_failed: do runs again that failed for a cause of their own.
    """

    workers: int | None = None
    executor: SupportsSubmit | None = None
    ray: bool = False
    address: str | None = None
    shard: Shard | None = None
    retry_failed: bool = False

    @property
    def local(self) -> bool:
        """Whether processes of our own run them."""
        return self.executor is None and not self.ray


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


def complete(grid: Grid, how: Execution, progress: NoProgress, gpus: int = 0) -> list[Record]:
    """Run what the store does not hold yet, and give the records of all.

    Args:
        grid: of the runs.
        how: they are computed.
        progress: that is shown.
        gpus: that a run takes on a Ray cluster.
    """
    for line in filter(None, (grid.failures, grid.message)):
        progress.say(line)
    workers = workers_for(grid.threads) if how.workers is None and how.local else how.workers
    with (
        _executor(how, grid, gpus) as executor,
        closing(grid.run(executor, workers)) as results,
        progress.tracking(grid.mine, grid.todo, workers) as advance,
    ):
        for config, result in results:
            advance(config, result)
    return grid.records


def gathered(grid: Grid, progress: NoProgress) -> list[Record]:
    """Give the records that shards have made, and say what is missing; nothing is run, since a shard may be at it."""
    for shard, left in grid.unfinished_shards().items():
        progress.say(
            f"shard {shard}: {counted(left, progress.unit)} missing; the same command with --shard {shard} does "
            f"{'it' if left == 1 else 'them'}"
        )
    return grid.records


@contextmanager
def _executor(how: Execution, grid: Grid, gpus: int) -> Iterator[SupportsSubmit | None]:
    """Enter a Ray cluster where one is asked for and there is something to do."""
    if not how.ray:
        yield how.executor
    elif not grid.todo:
        yield None
    else:
        with RayExecutor(how.address, grid.threads, gpus=gpus) as executor:
            yield executor
