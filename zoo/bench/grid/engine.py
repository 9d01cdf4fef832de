"""The engine of every study: run a grid of independent configurations on any executor; stop and go on at any time."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from rich.console import Console
from rich.progress import track

from zoo.bench.grid import products
from zoo.bench.grid.results_store import Store, key_of
from zoo.bench.grid.shard import Shard, shards_in, unfinished
from zoo.bench.grid.task import Config, Result, attempt
from zoo.bench.grid.threads import VARIABLE, choose_threads, threads_of
from zoo.bench.grid.worker_pool import WorkerPool
from zoo.errors import ConfigError
from zoo.locking import locked
from zoo.names import counted
from zoo.processors import cores

Record = Mapping[str, Any]
Results = Generator[tuple[Config, Result], None, None]
Call = tuple[str, Config, int]
"""Arguments of `attempt`."""
AHEAD = 1000
"""Runs that an executor has at a time, so that memory does not grow with their number."""
POLL = 0.2
"""Seconds between two looks at jobs that are no `concurrent.futures.Future`, such as submitit's."""


@runtime_checkable
class SupportsSubmit(Protocol):
    """An executor: `concurrent.futures.Executor`, dask's `Client.get_executor()`, submitit's `AutoExecutor`."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        """Start a call and give its future: `result()`, `done()`, `cancel()`."""


class Grid:
    """Hold the runs of a study, those that a results store holds already and those to do.

    Args:
        work: `package.module:function` from a configuration to a result, JSON values both.
        configs: of the runs, in the order in which they start; a run is known by the content of its configuration.
        store: of the results.
        retry_failed: do runs again that failed for a cause of their own; a lack of memory and a killed worker are
            always tried again.
        threads: of each run, whatever computes it; part of what names a run, since it changes the sums. By default
            `OMP_NUM_THREADS`, else those of most results in the store, else one.
        shard: part of the runs that is to do; by default all.

    Raises:
        ConfigError: If `work` is not written as above, or `OMP_NUM_THREADS` is no number.
    """

    def __init__(
        self,
        work: str,
        configs: Iterable[Mapping[str, Any]],
        store: Store,
        *,
        retry_failed: bool = False,
        threads: int | None = None,
        shard: Shard | None = None,
    ) -> None:
        check_work(work)
        self.work, self.store = work, store
        self.threads = threads or choose_threads(store.records.values())
        self.configs: dict[str, Config] = {key_of(config, self.threads): dict(config) for config in configs}
        done = store.succeeded if retry_failed else store.settled
        mine = shard.part(self.configs) if shard else self.configs
        self.mine: Sequence[Config] = list(mine.values())
        """Runs of the shard; of the grid without one."""
        self.todo: Sequence[Config] = [config for key, config in mine.items() if not done(key)]
        self.failed = sum(done(key) and not store.succeeded(key) for key in mine)
        """Runs that failed before and are not done again."""

    @property
    def failures(self) -> str:
        """Tell of runs that failed before and are not done again; empty where there are none."""
        if not self.failed:
            return ""
        many, again = counted(self.failed, "run"), "is" if self.failed == 1 else "are"
        return f"{many} failed before and {again} not tried again; --retry-failed (retry_failed=True) repeats them"

    def unfinished_shards(self) -> dict[Shard, int]:
        """Count the runs that each shard of the study still has to do; empty where none has begun."""
        settled = filter(self.store.settled, self.configs)
        return unfinished(shards_in(self.store.folder), self.configs, settled)

    @property
    def message(self) -> str:
        """Tell of results on another number of threads, which are not used, and by another rule of products."""
        rule = products.changed(self.store.records.values()) if self.todo else ""
        return "\n".join(filter(None, (self._on_other_threads(), rule)))

    def _on_other_threads(self) -> str:
        todo = {key_of(config) for config in self.todo}
        stored = (record for record in self.store.records.values() if "error" not in record)
        others = Counter(threads_of(record) for record in stored if key_of(record["config"]) in todo)
        if not others:
            return ""
        (threads, count), *_ = others.most_common(1)
        return (
            f"{counted(count, 'run')} done before on {counted(threads, 'thread')} {'is' if count == 1 else 'are'} not "
            f"used, since {counted(self.threads, 'thread')} now would give other sums: {VARIABLE}={threads} goes on "
            "with them"
        )

    @property
    def records(self) -> list[Record]:
        """Give the stored records of the grid's runs, in its order; those not done are left out."""
        return [self.store.records[key] for key in self.configs if key in self.store.records]

    def run(self, executor: SupportsSubmit | None = None, workers: int | None = None) -> Results:
        """Run the configurations that are not done, and yield each with its result as soon as that is stored.

        A run that raises, or whose worker dies, has the result `{"error": cause}` and stops nothing. Closing the
        iterator, or Ctrl-C, ends the built-in workers and cancels what another executor has not started.

        Args:
            executor: that runs the configurations; by default processes of our own.
            workers: number of those, by default as many as the cores have room for; 0 runs in this process.

        Raises:
            ConfigError: If `workers` is negative, or given beside an executor.
        """
        if workers is not None and workers < 0:
            raise ConfigError(f"workers={workers}: at least 0 is needed")
        if workers is not None and executor is not None:
            raise ConfigError(f"workers={workers} beside an executor, which has its own: give one of the two")
        return self._run(executor, workers)

    def _run(self, executor: SupportsSubmit | None, workers: int | None) -> Results:
        if executor is None and workers != 0 and self.todo:
            pool = WorkerPool(min(workers or workers_for(self.threads), len(self.todo)), self.threads)
            try:
                yield from self._run(pool, None)
            finally:
                pool.kill_workers()
            return
        calls = [(self.work, config, self.threads) for config in self.todo]
        results = _in_turn(calls) if executor is None else _submitted(executor, calls)
        with closing(results):
            for config, result in results:
                self.store.add(key_of(config, self.threads), config, {**result, "threads": self.threads})
                yield config, result


def check_work(work: Any) -> None:
    """Refuse what is no `package.module:function`; workers, perhaps on other machines, import it by that name.

    Raises:
        ConfigError: If it is something else, such as the function itself.
    """
    if isinstance(work, str) and all(work.partition(":")):
        return
    hint = ""
    if callable(work):
        name = f"{getattr(work, '__module__', '')}:{getattr(work, '__qualname__', '')}"
        importable = name.replace(".", "").replace(":", "").isidentifier() and not name.startswith("__main__")
        hint = f", as which it would be {name!r}" if importable else ": move the function to a module of its own"
    raise ConfigError(f"work={work!r} is not the string 'package.module:function', by which workers import it{hint}")


def workers_for(threads: int) -> int:
    """Count the processes that keep the cores busy."""
    return max(1, cores() // threads)


def run_grid(
    work: str,
    configs: Iterable[Mapping[str, Any]],
    out: str | Path,
    *,
    executor: SupportsSubmit | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
    progress: bool = True,
    unit: str = "runs",
) -> list[Record]:
    """Run a study and give its records, each with `config` and its result, in the order of the configurations.

    The record of a run that failed has `error` and `traceback` in place of a result. With progress, each failure is
    shown when it happens.

    Args:
        work: see `Grid`.
        configs: see `Grid`.
        out: folder of `results.jsonl`; what it holds already is not run again.
        executor: see `Grid.run`.
        workers: see `Grid.run`.
        retry_failed: see `Grid`.
        progress: whether to show progress.
        unit: what the runs are called there.

    Raises:
        ConfigError: If a number does not fit.
        FolderInUseError: If another process works in the folder.
        DataError: If the folder cannot be used.
    """
    with locked(Path(out)):
        grid = Grid(work, configs, Store(Path(out)), retry_failed=retry_failed)
        return _run_shown(grid, executor, workers, Console(quiet=not progress), unit)


def _run_shown(
    grid: Grid, executor: SupportsSubmit | None, workers: int | None, console: Console, unit: str
) -> list[Record]:
    """Run what is to do with a progress bar."""
    for line in filter(None, (grid.store.message, grid.failures, grid.message)):
        console.print(line, markup=False, soft_wrap=True)
    if done := len(grid.configs) - len(grid.todo):
        console.print(f"{done} of {len(grid.configs)} {unit} are done already.")
    with closing(grid.run(executor, workers)) as results:
        shown = track(results, unit, total=len(grid.todo), console=console, disable=console.quiet or not grid.todo)
        for config, result in shown:
            if "error" in result:
                which = ", ".join(f"{key}={value}" for key, value in config.items())
                console.print(f"failed: {result['error']} ({which})", style="red", markup=False, soft_wrap=True)
    return grid.records


def _in_turn(calls: Sequence[Call]) -> Results:
    yield from ((call[1], attempt(*call)) for call in calls)


def _submitted(executor: SupportsSubmit, calls: Sequence[Call]) -> Results:
    rest = iter(calls)
    waiting: dict[Any, Config] = {}
    try:
        while True:
            waiting.update((executor.submit(attempt, *call), call[1]) for call in islice(rest, AHEAD - len(waiting)))
            if not waiting:
                return
            for future in _ended(waiting):
                yield waiting.pop(future), _result(future)
    finally:
        for future in waiting:
            if not future.done():
                future.cancel()


def _ended(waiting: Collection[Any]) -> list[Any]:
    """Wait for some of the futures, whatever class they are of, and give those that have ended."""
    if all(isinstance(future, Future) for future in waiting):
        return list(wait(waiting, return_when=FIRST_COMPLETED).done)
    while not (ended := [future for future in waiting if future.done()]):
        time.sleep(POLL)
    return ended


def _result(future: Any) -> Result:
    """Give a run's result; an error here is that of its worker, so another try may end well."""
    try:
        return future.result()
    except Exception as error:  # of many kinds: a broken pool, a cancelled job, a host that lacks the module
        return {"error": f"{type(error).__name__}: {error}", "transient": True}
