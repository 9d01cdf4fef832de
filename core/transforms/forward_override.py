"""`overridden`: replace the `forward` of modules within a `with` block."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn


@contextmanager
def overridden(modules: Iterable[nn.Module], make: Callable[[nn.Module], Callable[..., Any]]) -> Iterator[None]:
    """Replace the `forward` of modules in a `with` block; afterwards they have the former one again.

    Args:
        modules: each counts once.
        make: gives the other forward of a module; called while it still has its own.
    """
    before = {module: module.__dict__.get("forward") for module in modules}
    for module in before:
        module.forward = make(module)
    try:
        yield
    finally:
        for module, forward in before.items():
            del module.forward
            if forward is not None:
                module.forward = forward
