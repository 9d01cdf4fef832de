import os
import signal
import time
from contextlib import closing
from typing import Any

import pytest
import torch

from zoo.bench.grid.worker_pool import run_all


def work(config: dict[str, Any]) -> dict[str, Any]:
    if "raise" in config:
        raise ValueError(config["raise"])
    if "exhaust" in config:
        raise {"python": MemoryError, "torch": torch.OutOfMemoryError, "cpu": RuntimeError}[config["exhaust"]](
            "DefaultCPUAllocator: can't allocate memory" if config["exhaust"] == "cpu" else "none left"
        )
    if "die" in config:
        os.kill(os.getpid(), signal.SIGKILL)
    if "sleep" in config:
        time.sleep(config["sleep"])
    return {"square": config.get("x", 0) ** 2, "pid": os.getpid(), "threads": os.environ.get("OMP_NUM_THREADS")}


WORK = "test_worker_pool:work"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(os.path.dirname(__file__))


@pytest.mark.parametrize("workers", [0, 2])
def test_every_configuration_gets_its_result(workers: int) -> None:
    results = list(run_all(WORK, [{"x": x} for x in range(5)], workers))
    assert sorted((config["x"], result["square"]) for config, result in results) == [(x, x * x) for x in range(5)]


@pytest.mark.slow
def test_workers_are_processes_with_their_share_of_threads() -> None:
    results = [result for _, result in run_all(WORK, [{}, {}, {}], 2, threads=3)]
    assert os.getpid() not in {result["pid"] for result in results}
    assert {result["threads"] for result in results} == {"3"}


@pytest.mark.parametrize("workers", [0, 1])
def test_an_exception_is_a_result_with_its_cause(workers: int) -> None:
    results = dict(enumerate(result for _, result in run_all(WORK, [{"raise": "too big"}, {"x": 2}], workers)))
    assert results[0]["error"] == "ValueError: too big"
    assert "in work" in results[0]["traceback"]
    assert "transient" not in results[0]
    assert results[1]["square"] == 4


@pytest.mark.parametrize("allocator", ["python", "torch", "cpu"])
def test_a_lack_of_memory_may_pass(allocator: str) -> None:
    (_, result), *_ = run_all(WORK, [{"exhaust": allocator}], 0)
    assert result["transient"]


@pytest.mark.slow
def test_a_killed_worker_fails_its_own_run_only() -> None:
    results = [result for _, result in run_all(WORK, [{"die": 1}, {"x": 2}], 1)]
    assert "the worker was killed (signal 9)" in results[0]["error"]
    assert results[0]["transient"]
    assert results[1]["square"] == 4


def test_leaving_early_ends_the_workers() -> None:
    runs = run_all(WORK, [{"x": 1}, {"sleep": 60}], 1)
    with closing(runs):
        pid = next(runs)[1]["pid"]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
