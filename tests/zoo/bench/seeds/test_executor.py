"""Seeds that are computed in one call: each run has its own result, and none is waited for in vain."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from zoo.bench.grid import engine
from zoo.bench.grid.engine import Grid
from zoo.bench.grid.results_store import Store
from zoo.bench.seeds import executor
from zoo.bench.seeds.executor import SeedsTogether

WORK, JOINT = f"{__name__}:single", f"{__name__}:joint"


class Here(Executor):
    """Computes a call at once, and counts them."""

    calls = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls += 1
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args))
        except Exception as error:
            future.set_exception(error)
        return future


def joint(config: dict[str, Any]) -> dict[str, Any]:
    runs = config["runs"]
    if runs[0]["size"] < 0:
        raise ValueError("no such size")
    together = len(runs)
    return {
        "results": [
            {"error": "odd"} if run["seed"] % 2 else {"value": run["size"] + run["seed"], "together": together}
            for run in runs
        ]
    }


def grid(folder: Path, *sizes: int, seeds: int = 3) -> Grid:
    configs = [{"size": size, "seed": seed} for size in sizes for seed in range(seeds)]
    return Grid(WORK, configs, Store(folder), threads=1)


def results(runs: Grid, here: Executor) -> list[tuple[int, int, Any]]:
    found = runs.run(SeedsTogether(here, JOINT, runs.todo))
    return sorted(
        (config["size"], config["seed"], result.get("value", result.get("error"))) for config, result in found
    )


def test_each_seed_has_its_own_result_of_one_call(tmp_path: Path) -> None:
    here = Here()
    found = results(grid(tmp_path, 10, 20), here)
    assert found == [(10, 0, 10), (10, 1, "odd"), (10, 2, 12), (20, 0, 20), (20, 1, "odd"), (20, 2, 22)]
    assert here.calls == 2
    record = Store(tmp_path).records[next(iter(grid(tmp_path, 10, 20).configs))]
    assert (record["together"], record["threads"], record["products"]) == (3, 1, record["products"])


def test_an_error_of_a_call_is_that_of_each_run(tmp_path: Path) -> None:
    assert {error for *_, error in results(grid(tmp_path, -1), Here())} == {"ValueError: no such size"}


def test_seeds_that_are_done_are_not_waited_for(tmp_path: Path) -> None:
    results(grid(tmp_path, 10, seeds=1), Here())
    assert [seed for _, seed, _ in results(grid(tmp_path, 10), Here())] == [1, 2]


def test_a_group_that_is_longer_than_what_is_submitted_at_a_time_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "AHEAD", 4)
    monkeypatch.setattr(executor, "AHEAD", 4)
    here = Here()
    assert len(results(grid(tmp_path, 10, seeds=10), here)) == 10
    assert here.calls == 3


def test_a_worker_that_dies_fails_each_run_for_now(tmp_path: Path) -> None:
    class Dies(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(OSError("gone"))
            return future

    runs = grid(tmp_path, 10)
    assert [result["transient"] for _, result in runs.run(SeedsTogether(Dies(), JOINT, runs.todo))] == [True] * 3
    assert len(grid(tmp_path, 10).todo) == 3
