"""Backends: several ways to compute the same function, one file or folder each.

A file here or in a folder below that defines `BACKEND` is a backend; `zoo.core.engine.planner` asks it whether it can
serve a problem and at what cost, and the parity tests run over it.
"""

import pkgutil
from importlib import import_module

from zoo.core.backends.problem import Backend

_modules = [import_module(module.name) for module in pkgutil.walk_packages(__path__, f"{__name__}.")]
BACKENDS: dict[str, Backend] = {
    backend.name: backend
    for backend in sorted((m.BACKEND for m in _modules if hasattr(m, "BACKEND")), key=lambda backend: backend.name)
}
"""Every backend by name; a plain table, because `torch.compile` does not see through a cache."""
