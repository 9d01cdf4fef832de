"""`cores`: the processors that this process may use. Imports nothing heavy."""

import os


def cores() -> int:
    """Count the processors that this process may use: those of its affinity, which a job scheduler may set."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
