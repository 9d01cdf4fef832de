"""`SeedsTogether`: an executor that gives runs which differ in their seed alone to another one as one call."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, Future
from typing import Any

from zoo.bench.grid.engine import AHEAD
from zoo.bench.grid.task import Config, Result

Member = tuple[Config, Future[Result]]


class SeedsTogether:
    """Collect the seeds of a run, and submit them when all are there.

    Args:
        executor: of the calls.
        work: `package.module:function` from `{"runs": configurations}` to `{"results": …}`, a result or an error each.
        todo: configurations that will be submitted, each once.
    """

    def __init__(self, executor: Executor, work: str, todo: Iterable[Mapping[str, Any]]) -> None:
        self._executor, self._work = executor, work
        self._missing = Counter(map(_but_seed, todo))
        self._groups: dict[str, list[Member]] = {}
        self._submitted = 0

    def submit(self, fn: Callable[..., Result], work: str, config: Config, threads: int) -> Future[Result]:
        """Take one run; `fn` calls the work function, see `zoo.bench.grid.task.attempt`."""
        future: Future[Result] = Future()
        key = _but_seed(config)
        self._groups.setdefault(key, []).append((config, future))
        self._missing[key] -= 1
        self._submitted += 1
        complete = [key] if not self._missing[key] else []
        for each in list(self._groups) if self._submitted % AHEAD == 0 else complete:  # no more come until some end
            self._start(fn, self._groups.pop(each), threads)
        return future

    def _start(self, fn: Callable[..., Result], group: list[Member], threads: int) -> None:
        runs = {"runs": [config for config, _ in group]}
        call = self._executor.submit(fn, self._work, runs, threads)
        call.add_done_callback(lambda ended: _tell(ended, [future for _, future in group]))


def _but_seed(config: Mapping[str, Any]) -> str:
    return json.dumps({key: value for key, value in config.items() if key != "seed"}, sort_keys=True)


def _tell(ended: Future[Result], futures: list[Future[Result]]) -> None:
    """Pass on what a call gave, or why it gave nothing."""
    if ended.cancelled():
        for future in futures:
            future.cancel()
    elif error := ended.exception():
        for future in futures:
            future.set_exception(error)
    else:
        shared = dict(ended.result())
        results = shared.pop("results", [{}] * len(futures))  # an error is that of all
        for future, result in zip(futures, results, strict=True):
            future.set_result({**shared, **result})
