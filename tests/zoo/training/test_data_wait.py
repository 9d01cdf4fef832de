import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

from zoo.training import data_wait
from zoo.training.data_wait import DataWait


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Give the time, in seconds, as the first of a list."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def step(wait: DataWait, clock: list[float], fetch: float, compute: float) -> None:
    with wait.fetching():
        clock[0] += fetch
    clock[0] += compute
    wait.computed()


def test_a_processor_waits_as_long_as_the_fetch_takes(clock: list[float]) -> None:
    wait = DataWait(torch.device("cpu"))
    step(wait, clock, fetch=0.25, compute=1.0)
    step(wait, clock, fetch=0.5, compute=1.0)
    assert wait.take() == 0.75
    assert wait.take() == 0.0


class Device:
    """Be a GPU, which computes what it is given one after the other, and says when."""

    def __init__(self, clock: list[float]) -> None:
        self.clock, self.free = clock, 0.0

    def compute(self, seconds: float) -> None:
        self.free = max(self.free, self.clock[0]) + seconds

    def event(self) -> Any:
        return Event(self, max(self.free, self.clock[0]))


class Event:
    def __init__(self, device: Device, at: float) -> None:
        self.device, self.at = device, at

    def query(self) -> bool:
        return self.device.clock[0] >= self.at

    def elapsed_time(self, other: "Event") -> float:
        return 1000 * (other.at - self.at)


@pytest.fixture
def run(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> Callable[[float, float, int], float]:
    """Run steps whose kernels are launched in 10 ms; give the seconds of waiting."""
    device = Device(clock)
    monkeypatch.setattr(data_wait, "_now", device.event)

    def steps(fetch: float, compute: float, count: int = 100) -> float:
        wait = DataWait(torch.device("cuda"))
        for _ in range(count):
            with wait.fetching():
                clock[0] += fetch
            device.compute(compute)
            clock[0] += 0.01
            wait.computed()
        clock[0] = max(clock[0], device.free)
        return wait.take()

    return steps


@pytest.mark.parametrize(
    ("fetch", "compute", "waited"),
    [
        (0.02, 0.1, 0.02),  # fetched while the device computes: it waits for the first only
        (0.11, 0.1, 0.11 + 99 * 0.02),  # 10 ms too late, and the launch of 10 ms: the device has nothing in that time
        (0.1, 0.0, 100 * 0.1),  # nothing to compute
    ],
)
def test_a_gpu_waits_while_it_has_nothing_to_compute(
    run: Callable[..., float], fetch: float, compute: float, waited: float
) -> None:
    assert run(fetch, compute) == pytest.approx(waited)


def test_what_is_not_known_yet_is_told_later(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device(clock)
    monkeypatch.setattr(data_wait, "_now", device.event)
    wait = DataWait(torch.device("cuda"))
    for _ in range(2):
        with wait.fetching():
            clock[0] += 0.5
        device.compute(0.1)
        wait.computed()
        device.compute(7.0)  # something else of the caller's
    assert wait.take() == 0.5
    clock[0] += 10
    assert wait.take() == pytest.approx(0.5)
