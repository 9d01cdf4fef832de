"""`cores`, `available_memory`: what of this machine this process may use. Imports nothing heavy."""

import os
from contextlib import suppress
from pathlib import Path


def cores() -> int:
    """Count the processors that this process may use: those of its affinity, which a job scheduler may set."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int | None:
    """Give the memory that can be used without swapping, in bytes; None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return None
    with suppress(OSError, ValueError):  # "max" where a container has no limit
        free = min(free, int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return free
