"""`Workers`: processes that make batches before they are needed, in order; and `read_ahead`, by which corpora use them.

A batch is a pure function of small arguments, such as the places of its examples. So any process may make it, and the
batches are the same, bit for bit, with any number of workers.
"""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

import torch
from torch.utils.data import DataLoader

from zoo.errors import ZooError
from zoo.processors import cores

Item = TypeVar("Item")
MOST = 8
"""Workers at most, where their number is not given."""
FEWER = "Set fewer, such as --workers {fewer}"
"""What helps where a worker is killed for memory."""
FEWER_PROCESSORS = "Start again on fewer processors (`taskset -c 0 zoo …`): it goes on where it was"
"""The same where a file is read into the cache, by as many workers as there are processors."""
_IDLE = (-1, 0, "", ())
"""What a worker is told where nobody reads: it answers at once."""
_TOKENIZERS = "TOKENIZERS_PARALLELISM"
"""Variable that the tokenizers library wants set before a fork."""


class WorkerDiedError(ZooError, RuntimeError):
    """Report a worker process that ended, as the system ends one where memory runs out."""


class _Failed(NamedTuple):
    """Hold an error of ours, that a worker met."""

    error: ZooError


class _Calls:
    """The data set of the `DataLoader`: calls of methods of some objects.

    Args:
        owners: the objects.
    """

    def __init__(self, owners: list[Any]) -> None:
        self.owners = owners

    def __getitem__(self, call: tuple[int, int, str, tuple[Any, ...]]) -> tuple[int, Any]:
        """Give the number of a reading, and the result of the call."""
        number, owner, method, arguments = call
        if number < 0:
            return number, None
        try:
            return number, _made(getattr(self.owners[owner], method), arguments)
        except ZooError as error:
            return number, _Failed(error)


class _Reading:
    """Calls of one `Workers.read`, and the results that came.

    Args:
        calls: each as the data set takes it.
    """

    def __init__(self, calls: Iterator[tuple[int, int, str, tuple[Any, ...]]]) -> None:
        self.calls = calls
        self.results: deque[Any] = deque()
        self.outstanding = 0
        self.ended = False
        self.error: Exception | None = None

    def next_call(self) -> tuple[int, int, str, tuple[Any, ...]] | None:
        """Give the next call; None where there is none."""
        call = None
        try:
            call = next(self.calls, None)
        except Exception as error:  # raised where the results are read, behind those of the calls before
            self.error = error
        self.ended = call is None
        self.outstanding += call is not None
        return call


class Workers:
    """Worker processes that call methods of some objects; a `DataLoader` that is fed with calls.

    A context manager, which starts and ends the processes. Several readings share them: the last that began goes first,
    so that a validation does not wait for the training's batches, and what they have made of these is kept.

    Args:
        owners: whose methods are called, such as a corpus; each worker has them, by fork or pickled.
        workers: number of processes; with 0 all is made in this one when it is read.
        pin: whether tensors come in pinned memory, from which an accelerator copies them in the background.
        advice: what helps where one of them is killed for memory; `{fewer}` in it is half of the number.
    """

    def __init__(self, *owners: Any, workers: int = 0, pin: bool = False, advice: str = FEWER) -> None:
        self.owners, self.workers, self.pin, self.advice = owners, workers, pin, advice
        self._readings: dict[int, _Reading] = {}
        self._numbers = count()
        self._source: Any = None
        self._processes: list[Any] = []
        self._thread = threading.get_ident()

    def __enter__(self) -> "Workers":
        if self.workers:
            before = set(multiprocessing.active_children())
            with _environment(_TOKENIZERS, "false"):
                self._source = iter(self._loader())
            self._processes = [each for each in multiprocessing.active_children() if each not in before]
            _IN_USE.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the processes.

        Raises:
            WorkerDiedError: If one of them has ended, and that was the error.
        """
        if self._source is None:
            return
        _IN_USE.remove(self)
        dead = [each for each in self._processes if each.exitcode] if isinstance(error, RuntimeError) else []
        with suppress(RuntimeError):  # where one is dead, PyTorch's handler raises again as the others end
            self._source._shutdown_workers()  # as Lightning does: an error that is handled keeps the iterator alive
        self._source = None
        if dead:
            advice = self.advice.format(fewer=self.workers // 2)
            raise WorkerDiedError(f"{_cause_of_death(dead[0], self.workers)} {advice}") from error

    def holds(self, make: Callable[..., Any]) -> bool:
        """Tell whether the processes can call a function: a method of one of the objects, and asked in this thread."""
        owner = getattr(make, "__self__", None)
        return threading.get_ident() == self._thread and any(owner is each for each in self.owners)

    def read(self, make: Callable[..., Item], calls: Iterable[tuple[Any, ...]]) -> Iterator[Item]:
        """Yield the result of each call, in order.

        Args:
            make: a method of one of the objects.
            calls: arguments of each call.
        """
        if self._source is None:
            yield from (_made(make, arguments) for arguments in calls)
            return
        number, owner = next(self._numbers), self._place(make)
        reading = _Reading((number, owner, make.__name__, arguments) for arguments in calls)
        self._readings[number] = reading
        try:
            while reading.results or reading.outstanding or not reading.ended:
                if reading.results:
                    yield _checked(reading.results.popleft())
                else:
                    self._receive()
        finally:
            del self._readings[number]
        if reading.error is not None:
            raise reading.error

    def _place(self, make: Callable[..., Any]) -> int:
        owner = make.__self__  # type: ignore[attr-defined]
        return next(place for place, each in enumerate(self.owners) if each is owner)

    def _receive(self) -> None:
        """Take the next result of the workers, whoever reads it."""
        try:
            number, result = next(self._source)
        except (EOFError, OSError) as error:  # a worker's files are closed before the system tells that it has ended
            if not self._await_an_end():
                raise
            raise RuntimeError("the results of a worker that has ended cannot be read") from error
        reading = self._readings.get(number)
        if reading is not None:
            reading.outstanding -= 1
            reading.results.append(result)

    def _await_an_end(self) -> bool:
        """Tell whether processes have ended, or are about to; wait for these."""
        closed = multiprocessing.connection.wait([each.sentinel for each in self._processes], timeout=2)
        for each in self._processes:
            if each.sentinel in closed:
                each.join()
        return bool(closed)

    def _feed(self) -> Iterator[tuple[int, int, str, tuple[Any, ...]]]:
        """Give calls without end, those of the last reading first."""
        while True:
            calls = (each.next_call() for each in reversed(self._readings.values()) if not each.ended)
            yield next((call for call in calls if call is not None), _IDLE)

    def _loader(self) -> "DataLoader[Any]":
        return DataLoader(
            _Calls(list(self.owners)),  # type: ignore[arg-type]
            batch_size=None,
            sampler=self._feed(),
            num_workers=self.workers,
            collate_fn=_unchanged,
            pin_memory=self.pin,
            worker_init_fn=partial(_begin, flushes_denormal()),
            multiprocessing_context=_start_method(),
            generator=torch.Generator(),  # by default a number of the process's own is drawn, which dropout needs
        )


_IN_USE: list[Workers] = []
"""Those whose processes run, the last begun at the end."""


def read_ahead(make: Callable[..., Item], calls: Iterable[tuple[Any, ...]]) -> Iterator[Item]:
    """Yield the result of a method for each tuple of arguments, in order, made ahead by the workers in use.

    Without workers that hold the object of the method, each is made here, when it is wanted.

        def held_out(self, split, batch_size):
            yield from read_ahead(self.examples, ((split, places, None) for places in self.places(split, batch_size)))

    Args:
        make: a method; its result follows from its arguments alone.
        calls: arguments of each call, small, since they are sent to the workers.
    """
    using = next((each for each in reversed(_IN_USE) if each.holds(make)), None)
    yield from (using or Workers()).read(make, calls)


def default_workers(processes: int = 1, shared: bool = True) -> int:
    """Return how many workers read files, where their number is not given.

    They are as many as the processors that this process may use, at most 8, and half of them where the model computes
    on the same. There are none where workers are not forked (macOS, Windows): to start one takes seconds, and a script
    needs `if __name__ == "__main__":`.

    Args:
        processes: of the training on this machine, which share the processors.
        shared: whether the model computes on the processors too.
    """
    if _start_method() != "fork" or multiprocessing.current_process().daemon:
        return 0
    return max(1, min(MOST, cores() // processes // (2 if shared else 1)))


def flushes_denormal() -> bool:
    """Tell whether this process takes denormal numbers for 0, which torch cannot be asked: a product of two tells."""
    return float(torch.tensor([1e-39]) * torch.tensor([0.5])) == 0.0


def _made(make: Callable[..., Item], arguments: tuple[Any, ...]) -> Item:
    """Call a function as in a worker: without gradients and autocast, in one thread, as sums depend on their number."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad(), torch.autocast("cpu", enabled=False):
            return make(*arguments)
    finally:
        torch.set_num_threads(threads)


def _checked(result: Any) -> Any:
    if isinstance(result, _Failed):
        raise result.error
    return result


def _unchanged(result: Any) -> Any:
    return result


def _begin(flushes: bool, worker: int) -> None:
    """Prepare a worker: it ends with the process that reads, and leaves signals to the whole group to that."""
    _IN_USE.clear()
    torch.set_flush_denormal(flushes)
    torch.multiprocessing._prctl_pr_set_pdeathsig(signal.SIGKILL)  # type: ignore[attr-defined]  # Linux only
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A second one ends it: the first may be a scheduler's, to all processes of a job.
    signal.signal(signal.SIGTERM, lambda *_: signal.signal(signal.SIGTERM, signal.SIG_DFL))


def _start_method() -> str:
    """Return how workers start: as the user has set it, else on Linux by fork, so that they share the data's memory."""
    chosen = multiprocessing.get_start_method(allow_none=True)
    return chosen or ("fork" if sys.platform == "linux" else "spawn")


def _cause_of_death(process: Any, workers: int) -> str:
    code = process.exitcode
    name = ""
    with suppress(ValueError):
        name = f" ({signal.Signals(-code).name})"
    how = f"was killed by signal {-code}{name}" if code < 0 else f"ended with exit code {code}"
    return f"workers={workers}: a worker, process {process.pid}, {how}; most often memory has run out."


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """Set a variable of the environment, unless it is set."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
