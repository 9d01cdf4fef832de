import gc
import multiprocessing
import os
import re
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from zoo.data.batches import workers as module
from zoo.data.batches.workers import FEWER, WorkerDiedError, Workers, default_workers, flushes_denormal, read_ahead
from zoo.errors import DataError

pytestmark = pytest.mark.usefixtures("one_thread")


class Numbers:
    """Make small batches of a number."""

    def double(self, number: int) -> Tensor:
        if number == 13:
            raise DataError("13 brings bad luck")
        return torch.full((3,), 2 * number)

    def square(self, number: int) -> tuple[int, int]:
        return number**2, os.getpid()

    def state(self) -> tuple[int, bool, bool, bool]:
        mixed = torch.is_autocast_enabled("cpu")
        return torch.get_num_threads(), torch.is_grad_enabled(), mixed, flushes_denormal()

    def die(self, number: int) -> int:
        if number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    def fail(self) -> None:
        raise ZeroDivisionError("of the author's")

    def open(self) -> bytes:
        return Path("nowhere").read_bytes()


def terminate(result: tuple[int, int]) -> None:
    os.kill(result[1], signal.SIGTERM)


def each(numbers: Iterator[int] | range) -> Iterator[tuple[int]]:
    return ((number,) for number in numbers)


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_results_come_in_order(workers: int) -> None:
    data = Numbers()
    with Workers(data, workers=workers):
        doubled = [int(result[0]) for result in islice(read_ahead(data.double, each(range(12))), 12)]
    assert doubled == list(range(0, 24, 2))


def test_a_reading_is_made_by_the_workers_and_another_object_s_here() -> None:
    data, other = Numbers(), Numbers()
    with Workers(data, workers=2):
        ahead = {process for _, process in read_ahead(data.square, each(range(8)))}
        here = {process for _, process in read_ahead(other.square, each(range(8)))}
    after = {process for _, process in read_ahead(data.square, each(range(8)))}
    assert len(ahead) == 2
    assert here == after == {os.getpid()}
    assert os.getpid() not in ahead


def test_readings_share_the_workers_and_none_loses_a_result() -> None:
    data = Numbers()
    with Workers(data, workers=2):
        training = read_ahead(data.square, each(count()))
        taken, processes = [], set()
        for _ in range(3):
            taken += [value for value, _ in islice(training, 5)]
            for value, (held_out, process) in zip(range(7), read_ahead(data.square, each(range(7))), strict=True):
                assert held_out == value**2
                processes.add(process)
        assert next(read_ahead(data.square, each(range(7))))[0] == 0  # and is left in the middle
        taken += [value for value, _ in islice(training, 5)]
        assert {process for _, process in islice(training, 8)} == processes
    assert taken == [number**2 for number in range(20)]


def test_an_error_of_ours_comes_as_it_is_where_its_result_would_have() -> None:
    data = Numbers()
    with Workers(data, workers=2):
        seen: list[int] = []
        with pytest.raises(DataError, match=r"^13 brings bad luck$"):
            seen.extend(int(result[0]) for result in read_ahead(data.double, each(range(10, 20))))
        assert seen == [20, 22, 24]
        assert len(list(read_ahead(data.double, each(range(4))))) == 4  # the workers go on


def test_an_error_of_the_calls_comes_behind_the_results_before_it() -> None:
    def calls() -> Iterator[tuple[int]]:
        yield from each(range(3))
        raise DataError("line 4 is no UTF-8")

    data = Numbers()
    seen: list[int] = []
    with Workers(data, workers=2), pytest.raises(DataError, match="line 4"):
        seen.extend(int(result[0]) for result in read_ahead(data.double, calls()))
    assert seen == [0, 2, 4]


def test_another_error_shows_where_in_the_worker_it_was() -> None:
    data = Numbers()
    with Workers(data, workers=1), pytest.raises(ZeroDivisionError, match="in fail"):
        list(read_ahead(data.fail, [()]))


def test_a_worker_that_the_system_kills_is_an_error_that_says_what_to_set() -> None:
    data = Numbers()
    with pytest.raises(WorkerDiedError) as error, Workers(data, workers=2, advice=f"{FEWER}, or smaller batches"):
        list(read_ahead(data.die, each(range(20))))
    assert re.match(r"workers=2: a worker, process \d+, was killed by signal 9 \(SIGKILL\); ", str(error.value))
    assert str(error.value).endswith("memory has run out. Set fewer, such as --workers 1, or smaller batches")
    assert not multiprocessing.active_children()


def test_a_dead_worker_is_told_even_if_pytorch_raises_again_while_the_others_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = Numbers()
    end = _MultiProcessingDataLoaderIter._shutdown_workers

    def shut_down(self: _MultiProcessingDataLoaderIter) -> None:
        monkeypatch.undo()  # once: it is called again where the iterator is freed
        end(self)
        raise RuntimeError("DataLoader worker (pid 1) is killed by signal: Killed.")

    gc.collect()  # iterators of other tests, which would call it
    monkeypatch.setattr(_MultiProcessingDataLoaderIter, "_shutdown_workers", shut_down)
    with pytest.raises(WorkerDiedError, match="SIGKILL"), Workers(data, workers=2):
        list(read_ahead(data.die, each(range(20))))


@pytest.mark.parametrize("error", [EOFError(), ConnectionResetError(104, "Connection reset by peer")])
def test_a_dead_worker_is_told_even_if_its_files_are_closed_before_the_system_says_so(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = Numbers()

    def next_data(self: _MultiProcessingDataLoaderIter) -> None:
        threading.Timer(0.2, self._workers[0].kill).start()
        raise error

    monkeypatch.setattr(_MultiProcessingDataLoaderIter, "_next_data", next_data)
    with pytest.raises(WorkerDiedError, match="SIGKILL"), Workers(data, workers=2):
        list(read_ahead(data.square, each(range(20))))


def test_an_author_s_error_of_files_stays_what_it_is() -> None:
    data = Numbers()
    with pytest.raises(FileNotFoundError, match="nowhere"), Workers(data, workers=2):
        list(read_ahead(data.open, [()]))


def test_a_signal_to_the_whole_group_is_for_the_process_that_reads() -> None:
    data = Numbers()
    with Workers(data, workers=2):
        reading = read_ahead(data.square, each(count()))
        processes = {process for _, process in islice(reading, 6)}
        for process in processes:
            os.kill(process, signal.SIGINT)
            os.kill(process, signal.SIGTERM)
        time.sleep(0.1)
        assert {process for _, process in islice(reading, 12)} == processes


def test_a_second_sigterm_ends_a_worker() -> None:
    data = Numbers()
    with pytest.raises(WorkerDiedError, match="SIGTERM"), Workers(data, workers=1):
        deque(map(terminate, read_ahead(data.square, each(count()))))


@pytest.mark.parametrize("flush", [False, True])
def test_a_result_is_made_alike_in_a_worker_and_here(flush: bool) -> None:
    data, before = Numbers(), flushes_denormal()
    try:
        torch.set_flush_denormal(flush)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            (here,) = read_ahead(data.state, [()])
            with Workers(data, workers=1):
                (ahead,) = read_ahead(data.state, [()])
    finally:
        torch.set_flush_denormal(before)
    assert here == ahead == (1, False, False, flush)


def test_random_numbers_of_the_process_are_left_alone() -> None:
    data, before = Numbers(), torch.get_rng_state()
    with Workers(data, workers=1):
        list(read_ahead(data.double, each(range(3))))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.slow
def test_workers_that_are_spawned_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none=False: "spawn")
    monkeypatch.syspath_prepend(Path(__file__).parents[4])  # where the worker finds this file
    data = Numbers()
    with Workers(data, workers=1):
        assert [int(result[0]) for result in read_ahead(data.double, each(range(5)))] == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    ("processors", "processes", "shared", "workers"),
    [(2, 1, True, 1), (1, 1, True, 1), (16, 1, True, 8), (16, 4, True, 2), (64, 1, False, 8), (16, 4, False, 4)],
)
def test_files_are_read_by_as_many_as_the_processors_have_room_for(
    processors: int, processes: int, shared: bool, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "cores", lambda: processors)
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none=False: "fork")
    assert default_workers(processes, shared) == workers


def test_where_workers_are_not_forked_there_are_none_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none=False: None)
    monkeypatch.setattr("sys.platform", "darwin")
    assert default_workers() == 0
