"""Timing of two functions in turns in one process, so that noise affects both alike: ratios, not seconds."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import torch


@dataclass(frozen=True)
class Spread:
    """Give a median and an interval that holds the true median with at least 95 %, by order statistics."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> "Spread":
        """Summarise measured values; with fewer than six the interval is their range."""
        ordered = sorted(values)
        n = len(ordered)
        cut, missed = 0, 2 / 2**n
        while cut + 1 < n / 2 and missed + 2 * comb(n, cut + 1) / 2**n <= 0.05:
            cut += 1
            missed += 2 * comb(n, cut) / 2**n
        return cls(statistics.median(ordered), ordered[cut], ordered[n - 1 - cut])

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}-{self.high:.2f})"


def in_turns(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[list[float], list[float]]:
    """Run two functions in turns and time each run, in seconds; who goes first changes from round to round.

    Args:
        ours: the first function; both run twice untimed before.
        theirs: the second function.
        rounds: timed runs of each.
    """
    times: dict[Callable[[], object], list[float]] = {ours: [], theirs: []}
    for turn in range(-2, rounds):
        for function in (ours, theirs) if turn % 2 else (theirs, ours):
            spent = seconds(function)
            if turn >= 0:
                times[function].append(spent)
    return times[ours], times[theirs]


def seconds(function: Callable[[], object]) -> float:
    """Time one run; work on an accelerator is waited for."""
    start = time.perf_counter()
    function()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def matrix_rate(dtype: torch.dtype, size: int = 1536, repeats: int = 5) -> float:
    """Measure the floating-point operations a second of a large matrix product, here and now."""
    a, b = (torch.randn(size, size).to(dtype) for _ in range(2))
    torch.mm(a, b)
    return 2 * size**3 / min(seconds(lambda: torch.mm(a, b)) for _ in range(repeats))
