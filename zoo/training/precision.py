"""Precision of a training; `auto` is measured on this machine."""

import time
from functools import cache

import torch
from torch import Tensor

from zoo.errors import ConfigError
from zoo.names import did_you_mean

PRECISIONS = ("auto", "32-true", "bf16-mixed", "16-mixed", "bf16-true", "64-true")


def resolve_precision(name: str, accelerator: str) -> str:
    """Resolve `auto` to the faster precision on this machine.

    Args:
        name: `auto`, or a name of Fabric's.
        accelerator: `cpu`, `cuda` or another of Fabric's.

    Raises:
        ConfigError: If the name is unknown, or half precision is asked of a CPU.
    """
    if name not in PRECISIONS:
        raise ConfigError(f"precision={name!r} is not one of {', '.join(PRECISIONS)}.{did_you_mean(name, PRECISIONS)}")
    if name == "16-mixed" and accelerator == "cpu":
        raise ConfigError("precision='16-mixed' on a CPU: it has no fast float16; write bf16-mixed or 32-true")
    return profitable_precision() if name == "auto" else name


@cache
def profitable_precision(threshold: float = 2.0) -> str:
    """Choose bf16 where a measured matrix product is faster by this factor, else float32; measured once a process.

    CPUs with matrix units gain eightfold and more, others nothing: casting needs a gain of two to pay.
    """
    if torch.accelerator.is_available():
        return "bf16-mixed"
    return "bf16-mixed" if bf16_gain() >= threshold else "32-true"


@cache
def bf16_gain(side: int = 512, repeats: int = 5) -> float:
    """Measure how many times faster this machine multiplies bf16 matrices than float32 ones."""
    full = torch.ones(side, side)
    return _fastest(full, repeats) / _fastest(full.bfloat16(), repeats)


def _fastest(matrix: Tensor, repeats: int) -> float:
    durations = []
    for _ in range(repeats + 1):  # the first is the library's set-up
        started = time.thread_time()  # what other processes take does not count
        matrix @ matrix
        durations.append(time.thread_time() - started)
    return min(durations[1:])
