"""Independent runs in worker processes: each has its share of the cores, a run that fails stops nothing.

A worker is `python -m zoo.bench.grid.worker_pool`: it reads a configuration as a JSON line and answers with a result.
It does not import the caller's main module, so scripts need no guard and notebooks work; when the caller dies, its
input closes and it ends at once.
"""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Sequence
from importlib import import_module
from typing import Any, TextIO

Config = dict[str, Any]
Result = dict[str, Any]


def cores() -> int:
    """Count the cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(
    work: str, configs: Sequence[Config], workers: int, threads: int | None = None
) -> Generator[tuple[Config, Result], None, None]:
    """Yield each configuration with its result as soon as it is there.

    An exception in a run, or the death of its worker, gives `{"error": cause}`, with `"transient": True` where the
    machine was to blame and another try may end well: no memory, a killed worker. Leaving the iteration, by Ctrl-C or
    otherwise, ends the workers.

    Args:
        work: `package.module:function` of one configuration; both sides are JSON values.
        configs: in the order in which they start.
        workers: processes; 0 works in this one.
        threads: of each worker; by default its share of the cores.
    """
    if workers == 0:
        function = _load(work)
        yield from ((config, _attempt(function, config)) for config in configs)
        return
    waiting: queue.SimpleQueue[Config] = queue.SimpleQueue()
    ready: queue.SimpleQueue[tuple[Config, Result]] = queue.SimpleQueue()
    for config in configs:
        waiting.put(config)
    count = min(workers, len(configs))
    crew = [_Worker(work, threads or max(1, cores() // max(1, count)), waiting, ready) for _ in range(count)]
    try:
        for _ in configs:
            yield ready.get()
    finally:
        for worker in crew:
            worker.end()


class _Worker(threading.Thread):
    """Feed one process, and replace it when it dies."""

    def __init__(
        self,
        work: str,
        threads: int,
        waiting: "queue.SimpleQueue[Config]",
        ready: "queue.SimpleQueue[tuple[Config, Result]]",
    ) -> None:
        super().__init__(daemon=True)
        self.work, self.threads, self.waiting, self.ready = work, threads, waiting, ready
        self.process: subprocess.Popen[str] | None = None
        self.ended = False
        self.start()

    def run(self) -> None:
        while not self.ended:
            try:
                config = self.waiting.get_nowait()
            except queue.Empty:
                break
            result = self._ask(config)
            if not self.ended:
                self.ready.put((config, result))
        self._close()

    def end(self) -> None:
        """Kill the process, whatever it is doing."""
        self.ended = True
        if self.process:
            self.process.kill()
        self.join()

    def _ask(self, config: Config) -> Result:
        process = self.process = self.process or _spawn(self.work, self.threads)
        assert process.stdin
        assert process.stdout
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(config) + "\n")
            process.stdin.flush()
        answer = process.stdout.readline()
        if answer.endswith("\n"):
            return json.loads(answer)
        code = process.wait()
        self._close()
        return {"error": _cause_of_death(code), "transient": True}

    def _close(self) -> None:
        process, self.process = self.process, None
        if process and process.stdin and process.stdout:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.stdout.close()
            process.wait()


def _spawn(work: str, threads: int) -> "subprocess.Popen[str]":
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
        "OMP_NUM_THREADS": str(threads),
    }
    command = [sys.executable, "-m", "zoo.bench.grid.worker_pool", work]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def _cause_of_death(code: int) -> str:
    if code == -getattr(signal, "SIGKILL", 9):
        return "the worker was killed (signal 9); most often the machine was out of memory"
    return f"the worker ended with exit code {code}"


def _load(work: str) -> Callable[[Config], Result]:
    module, _, name = work.partition(":")
    return getattr(import_module(module), name)


def _attempt(function: Callable[[Config], Result], config: Config) -> Result:
    try:
        return function(config)
    except Exception as error:  # whatever a run may raise is its result
        cause = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
        return cause | ({"transient": True} if _lacks_memory(error) else {})


def _lacks_memory(error: Exception) -> bool:
    """Recognise Python's and torch's errors; torch's on CPUs is a RuntimeError like any other."""
    named = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return named or "DefaultCPUAllocator" in str(error)


def _serve(work: str, answers: TextIO) -> None:
    """Answer each configuration of the standard input; a thread reads ahead to notice that the caller is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the caller ends us
    inbox: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            inbox.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    function = _load(work)
    while True:
        print(json.dumps(_attempt(function, json.loads(inbox.get()))), file=answers, flush=True)


if __name__ == "__main__":
    channel, sys.stdout = sys.stdout, sys.stderr  # what a model prints must not mix with answers
    _serve(sys.argv[1], channel)
