"""Backends: several ways to compute the same function, one file or folder each.

A file in this folder, or the file `backend` of a folder in it, that defines `BACKEND` is a backend;
`zoo.core.engine.planner` asks it whether it can serve a problem and at what cost, and the parity tests run over it.
"""

import pkgutil
from importlib import import_module

from zoo.core.backends.problem import Backend

_modules = [
    import_module(f"{__name__}.{module.name}.backend" if module.ispkg else f"{__name__}.{module.name}")
    for module in pkgutil.iter_modules(__path__)
]
BACKENDS: dict[str, Backend] = {
    module.BACKEND.name: module.BACKEND for module in _modules if hasattr(module, "BACKEND")
}
"""Every backend by name; a plain table, because `torch.compile` does not see through a cache."""
