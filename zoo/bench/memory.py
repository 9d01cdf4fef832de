"""How much memory a function needs at its height, counted by PyTorch's allocator."""

import os
from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile


def peak_bytes(function: Callable[[], object]) -> int:
    """Run a function once and give how far the bytes of tensors rose above what they were at its start.

    Buffers that a kernel takes from PyTorch are counted, what other libraries take by themselves is not.

    Args:
        function: what to run.
    """
    if torch.cuda.is_available():
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
