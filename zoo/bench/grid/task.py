"""One run of a study, where it is executed: a function named by string, JSON values in and out, errors as results."""

import json
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any

from zoo.bench.grid.threads import DEFAULT, limited_threads
from zoo.core.ops.products import chosen

Config = dict[str, Any]
Result = dict[str, Any]
RESERVED = {"error", "traceback", "transient", "config", "key", "version", "zoo_version"}
"""What a record has besides the result; a result with an `error` would be a run that failed."""


def attempt(work: str, config: Config, threads: int = DEFAULT) -> Result:
    """Run one configuration on so many threads; an exception gives `{"error": cause, "traceback": text}`.

    A result also says by which rule of this processor its products were computed (`products`). An error has
    `"transient": True` where the machine was to blame and another try may end well: no memory.

    Args:
        work: `package.module:function` that takes a configuration and returns a result.
        config: JSON values.
        threads: of PyTorch and BLAS; whatever the process has otherwise, the result is the same.
    """
    function = load(work)
    try:
        with limited_threads(threads):
            result = json.loads(json.dumps(function(config)))
        if taken := RESERVED & result.keys():
            raise ValueError(f"{work} gives {', '.join(sorted(taken))}, which every record has: choose another name")
        return {**result, "products": chosen()}
    except Exception as error:  # whatever a run may raise is its result
        return failure(error)


def failure(error: Exception) -> Result:
    """Give what is stored of a run that raised."""
    told = "".join(traceback.format_exception(error))
    cause = {"error": f"{type(error).__name__}: {error}", "traceback": told}
    return cause | ({"transient": True} if _lacks_memory(error) else {})


def load(work: str) -> Callable[[Config], Result]:
    """Import a work function."""
    module, _, name = work.partition(":")
    return getattr(import_module(module), name)


def _lacks_memory(error: Exception) -> bool:
    """Recognise Python's and torch's errors; torch's on CPUs is a RuntimeError like any other."""
    named = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return named or "DefaultCPUAllocator" in str(error)
