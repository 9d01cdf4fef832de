"""Peak memory of a function: of tensors, by PyTorch's allocator, or of its process."""

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile


def peak_bytes(function: Callable[[], object], device: str = "cpu") -> int:
    """Run a function once and give how far the bytes of tensors rose above what they were at its start.

    Buffers that a kernel takes from PyTorch are counted, what other libraries take by themselves is not.

    Args:
        function: what to run.
        device: where it makes its tensors; those of others are not counted.
    """
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        function()
        return torch.cuda.max_memory_allocated() - before
    os.environ.setdefault("KINETO_LOG_LEVEL", "9")  # the profiler reports its starts on stderr
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        function()
    events = [event for event in watched.profiler.kineto_results.events() if event.name() == "[memory]"]
    level = highest = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        level += event.nbytes()
        highest = max(highest, level)
    return highest


def resident_bytes(function: Callable[[], object]) -> int:
    """Run a function once in a process of its own and give the most memory that it held, libraries and all.

    Args:
        function: one that pickle knows by its name, or a `partial` of one.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_resident, function).result()


def _resident(function: Callable[[], object]) -> int:
    function()
    status = Path("/proc/self/status")
    if status.exists():  # rusage counts what the parent held, too
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes where there is no /proc
