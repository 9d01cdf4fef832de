import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import zoo.bench
from zoo.bench.grid import engine
from zoo.bench.grid.engine import Grid, check_work, run_grid
from zoo.bench.grid.results_store import Store
from zoo.bench.grid.shard import Shard
from zoo.bench.grid.worker_pool import WorkerPool
from zoo.errors import ConfigError, FolderInUseError

WORK = "grid_work:square"
SOURCE = '''
import os, time

def square(config):
    """Count the calls in a file; fail, or wait, if asked to."""
    if log := config.get("log"):
        with open(log, "a") as file:
            file.write(f"{config['x']}\\n")
    if config["x"] == config.get("bad"):
        raise ValueError("no square")
    if config["x"] == config.get("die"):
        os.kill(os.getpid(), 9)
    time.sleep(config.get("sleep", 0))
    return {"square": config["x"] ** 2, "pid": os.getpid()}
'''


@pytest.fixture(autouse=True)
def _importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "grid_work.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    yield
    sys.modules.pop("grid_work", None)


def configs(count: int = 4, **fields: Any) -> list[dict[str, Any]]:
    return [{"x": x, **fields} for x in range(count)]


def squares(records: Any) -> list[int]:
    return [record["square"] for record in records]


class Job:
    """Be a job as submitit gives: no `concurrent.futures.Future`."""

    def __init__(self, call: Callable[[], Any], ready: float) -> None:
        self.call, self.ready, self.cancelled = call, time.monotonic() + ready, False

    def done(self) -> bool:
        return time.monotonic() > self.ready

    def result(self) -> Any:
        return self.call()

    def cancel(self) -> None:
        self.cancelled = True


class Cluster:
    """Be an executor that shares nothing with `concurrent.futures` but `submit`."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Job:
        self.jobs.append(Job(lambda: fn(*args), 0.05 * len(self.jobs)))
        return self.jobs[-1]


@pytest.mark.parametrize(
    "executor",
    [
        None,
        lambda: WorkerPool(2),
        lambda: ThreadPoolExecutor(2),
        pytest.param(lambda: ProcessPoolExecutor(2, get_context("spawn")), marks=pytest.mark.slow),
        Cluster,
    ],
    ids=["none", "worker pool", "threads", "processes", "jobs"],
)
def test_any_executor_gives_the_records_in_order(executor: Callable[[], Any] | None, tmp_path: Path) -> None:
    made = executor() if executor else None
    records = run_grid(WORK, configs(), tmp_path, executor=made, workers=None if made else 0, progress=False)
    assert squares(records) == [0, 1, 4, 9]
    assert [record["config"] for record in records] == configs()
    if isinstance(made, Executor):
        made.shutdown()


def test_by_default_workers_are_processes_of_our_own(tmp_path: Path) -> None:
    records = run_grid(WORK, configs(2), tmp_path, workers=1, progress=False)
    assert os.getpid() not in {record["pid"] for record in records}


def test_what_was_done_before_is_not_done_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(tmp_path / "log")
    run_grid(WORK, configs(2, log=log), tmp_path, workers=0)
    assert squares(run_grid(WORK, configs(4, log=log), tmp_path, workers=0, unit="squares")) == [0, 1, 4, 9]
    assert Path(log).read_text().split() == ["0", "1", "2", "3"]
    assert "2 of 4 squares are done already." in capsys.readouterr().out


def test_an_executor_has_few_runs_at_a_time_however_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "AHEAD", 3)

    class Counting(ThreadPoolExecutor):
        waiting, most = 0, 0

        def submit(self, *args: Any) -> Any:  # type: ignore[override]
            future = super().submit(*args)
            self.waiting += 1
            self.most = max(self.most, self.waiting)
            return future

    with Counting(1) as executor:
        grid = Grid(WORK, configs(10), Store(tmp_path))
        for _ in grid.run(executor):
            executor.waiting -= 1
    assert squares(grid.records) == [x**2 for x in range(10)]
    assert executor.most == 3


def test_shards_do_each_run_once_and_the_same_ones_after_a_restart(tmp_path: Path) -> None:
    log = tmp_path / "log"
    asked = configs(7, log=str(log))
    for count in (1, 3):  # the second time with runs that are done
        for number in (1, 2, 3):
            shard = Shard(number, 3)
            grid = Grid(WORK, asked, Store(shard.folder(tmp_path)), shard=shard)
            results = grid.run(workers=0)
            list(islice(results, count))
            results.close()
    assert sorted(log.read_text().split(), key=int) == [str(x) for x in range(7)]
    store = Store(tmp_path, [Shard(number, 3).folder(tmp_path) for number in (1, 2, 3)])
    assert squares(Grid(WORK, asked, store).records) == [x**2 for x in range(7)]
    assert not Grid(WORK, asked, store).todo


def test_the_number_of_threads_is_part_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"

    def done(count: int, asked: str = "") -> tuple[str, list[int], str]:
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
        records = run_grid(WORK, configs(count, log=str(log)), tmp_path, workers=0)
        lines = "".join(log.read_text().split())
        log.write_text("")
        return lines, [record["threads"] for record in records], " ".join(capsys.readouterr().out.split())

    assert done(1, "2")[:2] == ("0", [2])
    assert done(2)[:2] == ("1", [2, 2])
    run, threads, said = done(2, "1")
    assert (run, threads) == ("01", [1, 1])
    assert "2 runs done before on 2 threads are not used, since 1 thread now would give other sums" in said
    assert "OMP_NUM_THREADS=2 goes on with them" in said
    assert done(2, "2") == ("", [2, 2], "2 of 2 runs are done already.")


def test_workers_are_as_many_as_the_cores_have_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "cores", lambda: 8)
    assert [engine.workers_for(threads) for threads in (1, 3, 16)] == [8, 2, 1]


def test_a_second_process_in_the_folder_is_told_who_works_there_and_nothing_is_run(tmp_path: Path) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    code = (
        "from zoo.bench import run_grid\n"
        f"run_grid({WORK!r}, [dict(x=0, log={str(log)!r}, sleep=60)], {str(out)!r}, workers=0, progress=False)"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not log.exists():
            time.sleep(0.02)
        with pytest.raises(
            FolderInUseError, match=rf"in use by process {process.pid} on host .*, since .* another out"
        ):
            run_grid(WORK, configs(1, log=str(log)), out, workers=0, progress=False)
        process.kill()
    assert log.read_text() == "0\n"
    assert squares(run_grid(WORK, configs(1, log=str(log)), out, workers=0, progress=False)) == [0]
    assert [path.name for path in out.iterdir()] == ["results.jsonl"]


def test_equal_configurations_are_one_run(tmp_path: Path) -> None:
    assert squares(run_grid(WORK, [*configs(2), *configs(2)], tmp_path, workers=0, progress=False)) == [0, 1]


def test_a_run_that_fails_stops_nothing_and_is_done_again_only_if_asked(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for retry, done in ((False, "0123"), (False, "0123"), (True, "01231")):
        grid = Grid(WORK, configs(4, bad=1, log=str(log)), Store(tmp_path), retry_failed=retry)
        list(grid.run(workers=0))
        assert [record.get("error") for record in grid.records] == [None, "ValueError: no square", None, None]
        assert "".join(log.read_text().split()) == done
    assert [Grid(WORK, configs(4, bad=1, log=str(log)), Store(tmp_path)).failed, grid.failed] == [1, 0]


@pytest.mark.slow
@pytest.mark.parametrize("executor", [None, lambda: ProcessPoolExecutor(1, get_context("spawn"))])
def test_a_worker_that_dies_fails_a_run_that_is_tried_again(
    executor: Callable[[], Executor] | None, tmp_path: Path
) -> None:
    made = executor() if executor else None
    grid = Grid(WORK, configs(2, die=1), Store(tmp_path))
    list(grid.run(made, None if made else 1))
    record = grid.records[1]
    assert "Worker" in record["error"] or "BrokenProcessPool" in record["error"]
    assert Grid(WORK, configs(2, die=1), Store(tmp_path)).todo[-1]["x"] == 1


def test_leaving_early_keeps_what_is_done_and_cancels_the_rest(tmp_path: Path) -> None:
    cluster = Cluster()
    with closing(Grid(WORK, configs(), Store(tmp_path)).run(cluster)) as results:
        assert next(results)[1]["square"] == 0
    assert [job.cancelled for job in cluster.jobs] == [False, True, True, True]
    assert squares(Grid(WORK, configs(), Store(tmp_path)).records) == [0]


def test_a_killed_study_goes_on(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    code = (
        "from zoo.bench import run_grid\n"
        f"run_grid({WORK!r}, [dict(x=x, sleep=0.2) for x in range(6)], {str(tmp_path)!r}, workers=1, progress=False)"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (results.exists() and results.read_text().count("\n") >= 2):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = results.read_text().count("\n")
    assert 2 <= before < 6
    assert squares(run_grid(WORK, configs(6, sleep=0.2), tmp_path, workers=0, progress=False)) == [0, 1, 4, 9, 16, 25]
    keys = [json.loads(line)["key"] for line in results.read_text().splitlines()]
    assert len(keys) == len(set(keys)) == 6


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"workers": -1}, "workers=-1: at least 0 is needed"),
        ({"workers": 2, "executor": Cluster()}, "workers=2 beside an executor, which has its own: give one of the two"),
    ],
)
def test_numbers_of_workers_that_do_not_fit(options: dict[str, Any], text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=text):
        run_grid(WORK, configs(), tmp_path, **options)


def test_a_work_function_is_written_with_a_colon(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"work='grid_work.square' is not the string 'package.module:function'"):
        run_grid("grid_work.square", configs(), tmp_path)


def test_a_function_in_place_of_its_name_is_told_its_name() -> None:
    with pytest.raises(ConfigError, match=r"work=<function dumps .*, as which it would be 'json:dumps'$"):
        check_work(json.dumps)
    for work in (lambda config: config, 3):
        with pytest.raises(ConfigError, match=r"is not the string 'package\.module:function'") as caught:
            check_work(work)
        assert ("move the function to a module" in str(caught.value)) == callable(work)


def test_each_failure_is_shown_with_its_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for progress in (True, False):
        records = run_grid(WORK, configs(3, bad=1), tmp_path / str(progress), workers=0, progress=progress)
        assert [record.get("error") for record in records] == [None, "ValueError: no square", None]
        shown = capsys.readouterr().out
        assert ("failed: ValueError: no square (x=1, bad=1)" in shown) == progress
        assert shown.count("failed:") == progress
    run_grid(WORK, configs(3, bad=1), tmp_path / "True", workers=0)
    assert (
        "1 run failed before and is not tried again; --retry-failed (retry_failed=True) repeats them"
        in capsys.readouterr().out
    )


def test_the_engine_imports_no_command_line() -> None:
    code = "import sys; import zoo.bench.grid.engine; print('typer' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_plugins_find_the_engine_in_zoo_bench() -> None:
    assert zoo.bench.run_grid is run_grid
    assert (zoo.bench.Grid, zoo.bench.WorkerPool, zoo.bench.Store) == (engine.Grid, WorkerPool, Store)
