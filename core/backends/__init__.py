"""Backends: several ways to compute the same function, one file each.

A file in this folder that defines `BACKEND` is a backend; `zoo.core.dispatch` finds it, asks it whether it can serve a
problem and at what cost, and the parity tests run over it.
"""

import functools
import pkgutil
from importlib import import_module

from zoo.core.backends.problem import Backend


@functools.cache
def backends() -> dict[str, Backend]:
    """Give every backend by name, in alphabetical order."""
    modules = (import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    found = [module.BACKEND for module in modules if hasattr(module, "BACKEND")]
    return {backend.name: backend for backend in sorted(found, key=lambda backend: backend.name)}
