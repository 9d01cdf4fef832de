"""A process pool, a `concurrent.futures.Executor`: workers share the cores, and one that dies fails one call only.

A worker is `python -m zoo.bench.grid.worker_pool`: it reads pickled calls and answers with pickled results. It does not
import the caller's main module, so scripts need no guard and notebooks work; when the caller dies, the worker's input
closes and it ends at once.
"""

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any, BinaryIO, TypeVar

from zoo.processors import cores

Answer = TypeVar("Answer")
Call = tuple[Future[Any], bytes]


class WorkerDiedError(BrokenExecutor):
    """Error of a call whose worker process ended; other calls continue in a new process."""


class WorkerPool(Executor):
    """Run calls in worker processes; functions and arguments are those that pickle finds by import.

    Args:
        workers: processes, at least 1; each starts with its first call.
        threads: of PyTorch and OpenMP in each worker; by default its share of the cores. `Grid` gives those of its
            runs.
    """

    def __init__(self, workers: int, threads: int | None = None) -> None:
        self._threads = threads or max(1, cores() // workers)
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = self._killed = False
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._feeders = [threading.Thread(target=self._feed, args=(i,), daemon=True) for i in range(workers)]
        for feeder in self._feeders:
            feeder.start()

    def submit(self, fn: Callable[..., Answer], /, *args: Any, **kwargs: Any) -> Future[Answer]:
        """Queue a call; its future raises `WorkerDiedError` if the process of the call ends."""
        future: Future[Answer] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("cannot submit to a pool that was shut down")
            self._calls.put((future, pickle.dumps((fn, args, kwargs))))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls, and end each worker when nothing is left for it."""
        with self._lock:
            if not self._closed:
                self._closed = True
                for _ in self._feeders:
                    self._calls.put(None)
        if cancel_futures:
            self._cancel()
        if wait:
            for feeder in self._feeders:
                feeder.join()

    def kill_workers(self) -> None:
        """End at once: kill the processes, whatever they are doing, and cancel the calls that wait."""
        with self._lock:
            self._killed = True
            for process in self._processes.values():
                process.kill()
        self.shutdown(cancel_futures=True)

    def _cancel(self) -> None:
        waiting = []
        with contextlib.suppress(queue.Empty):
            while True:
                waiting.append(self._calls.get_nowait())
        for call in waiting:
            if call is None:
                self._calls.put(None)  # ends a feeder
            else:
                call[0].cancel()

    def _feed(self, worker: int) -> None:
        """Hand calls to one process after another, and replace the process when it dies."""
        while call := self._calls.get():
            future, request = call
            if self._killed or not future.set_running_or_notify_cancel():
                future.cancel()
                continue
            try:
                succeeded, answer = self._request(worker, request)
            except Exception as error:
                succeeded, answer = False, error
            if succeeded:
                future.set_result(answer)
            else:
                future.set_exception(answer)
        self._close(worker)

    def _request(self, worker: int, request: bytes) -> tuple[bool, Any]:
        with self._lock:
            if self._killed:
                raise WorkerDiedError("the pool was ended")
            process = self._processes.get(worker) or self._processes.setdefault(worker, _spawn(self._threads))
        assert process.stdin
        assert process.stdout
        with contextlib.suppress(BrokenPipeError):
            pickle.dump(request, process.stdin)
            process.stdin.flush()
        try:
            answer = pickle.load(process.stdout)
        except (EOFError, pickle.UnpicklingError):  # nothing, or half an answer
            code = process.wait()
            self._close(worker)
            raise WorkerDiedError(_cause_of_death(code)) from None
        return pickle.loads(answer)

    def _close(self, worker: int) -> None:
        with self._lock:
            process = self._processes.pop(worker, None)
        if process and process.stdin and process.stdout:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.stdout.close()
            process.wait()


def _spawn(threads: int) -> "subprocess.Popen[bytes]":
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
        "OMP_NUM_THREADS": str(threads),
    }
    command = [sys.executable, "-m", "zoo.bench.grid.worker_pool"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def _cause_of_death(code: int) -> str:
    if code == -getattr(signal, "SIGKILL", 9):
        return "the worker was killed (signal 9); most often the machine was out of memory"
    return f"the worker ended with exit code {code}"


def _answer(request: bytes) -> bytes:
    """Make the call, and pickle whether it succeeded with what it gave or raised."""
    try:
        function, args, kwargs = pickle.loads(request)
        return pickle.dumps((True, function(*args, **kwargs)))
    except Exception as error:
        try:
            pickle.loads(answer := pickle.dumps((False, error)))
        except Exception:  # an error that pickle does not take
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
        return answer


def _serve(answers: BinaryIO) -> None:
    """Answer each call of the standard input; a thread reads ahead to notice that the caller is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the caller ends us
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        # not sys.stdin: at exit Python wants its lock, which this thread holds
        with open(0, "rb", closefd=False) as requests, contextlib.suppress(EOFError, pickle.UnpicklingError):
            while True:
                inbox.put(pickle.load(requests))
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        pickle.dump(_answer(inbox.get()), answers)
        answers.flush()


if __name__ == "__main__":
    channel, sys.stdout = sys.stdout.buffer, sys.stderr  # what a model prints must not mix with answers
    _serve(channel)
