import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from zoo.bench.grid.worker_pool import WorkerDiedError, WorkerPool
from zoo.processors import cores


def double(x: int, *, plus: int = 0) -> int:
    return 2 * x + plus


def process_and_threads() -> tuple[int, str]:
    return os.getpid(), os.environ["OMP_NUM_THREADS"]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave() -> None:
    sys.exit(3)


def refuse() -> None:
    raise ValueError("too big")


def raise_what_pickle_does_not_take() -> None:
    raise type("Odd", (Exception,), {})("no place to import it from")


def sleep(seconds: float) -> None:
    print("what a call prints is no answer")
    time.sleep(seconds)


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers import this file by the name that it has here."""
    folder = os.path.dirname(__file__)
    monkeypatch.syspath_prepend(folder)
    for function in (double, process_and_threads, die, leave, refuse, raise_what_pickle_does_not_take, sleep):
        monkeypatch.setattr(function, "__module__", "test_worker_pool")
    sys.modules.setdefault("test_worker_pool", sys.modules[__name__])


def test_every_call_gets_its_result() -> None:
    with WorkerPool(1) as pool:
        assert list(pool.map(double, range(5))) == [0, 2, 4, 6, 8]
        assert pool.submit(double, 3, plus=1).result() == 7


def test_an_exception_is_that_of_the_future() -> None:
    with WorkerPool(1) as pool:
        refused, odd = pool.submit(refuse), pool.submit(raise_what_pickle_does_not_take)
        with pytest.raises(ValueError, match="too big"):
            refused.result()
        with pytest.raises(RuntimeError, match="Odd: no place to import it from"):
            odd.result()


def test_a_function_that_has_no_name_is_refused_by_pickle() -> None:
    with WorkerPool(1) as pool, pytest.raises((pickle.PicklingError, AttributeError)):
        pool.submit(lambda: 1)


@pytest.mark.slow
def test_workers_are_processes_with_their_share_of_threads() -> None:
    with WorkerPool(2, threads=3) as pool:
        seen = [pool.submit(process_and_threads).result() for _ in range(3)]
    assert os.getpid() not in {pid for pid, _ in seen}
    assert {threads for _, threads in seen} == {"3"}
    with WorkerPool(1) as pool:
        assert pool.submit(process_and_threads).result()[1] == str(cores())


@pytest.mark.slow
def test_a_worker_that_dies_fails_its_own_call_only() -> None:
    with WorkerPool(1) as pool:
        killed, left, fine = pool.submit(die), pool.submit(leave), pool.submit(double, 2)
        with pytest.raises(WorkerDiedError, match=r"the worker was killed \(signal 9\)"):
            killed.result()
        with pytest.raises(WorkerDiedError, match="the worker ended with exit code 3"):
            left.result()
        assert fine.result() == 4


def test_killing_the_workers_ends_what_runs_and_cancels_what_waits() -> None:
    pool = WorkerPool(1)
    pid, _ = pool.submit(process_and_threads).result()
    runs, waits = pool.submit(sleep, 60), pool.submit(double, 1)
    while not runs.running():
        time.sleep(0.01)
    pool.kill_workers()
    with pytest.raises(WorkerDiedError):
        runs.result()
    with pytest.raises(CancelledError):
        waits.result()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(RuntimeError, match="cannot submit to a pool that was shut down"):
        pool.submit(double, 1)
    assert not [thread for thread in threading.enumerate() if thread in pool._feeders]


def test_a_shutdown_finishes_what_was_submitted_or_cancels_it() -> None:
    pool = WorkerPool(1)
    first, second = pool.submit(sleep, 0.2), pool.submit(double, 1)
    while not first.running():
        time.sleep(0.01)
    pool.shutdown(cancel_futures=True)
    assert first.result() is None
    assert second.cancelled()


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    code = (
        "import os, time\nfrom zoo.bench.grid.worker_pool import WorkerPool\npool = WorkerPool(1)\n"
        "print(pool.submit(os.getpid).result(), flush=True)\npool.submit(time.sleep, 60)\ntime.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    worker = int(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    for _ in range(200):
        if not Path(f"/proc/{worker}").exists() or "\nState:\tZ" in Path(f"/proc/{worker}/status").read_text():
            return
        time.sleep(0.05)
    pytest.fail(f"worker {worker} still runs")
