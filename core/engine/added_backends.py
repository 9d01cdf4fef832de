"""`add_backend`: a backend of another package, which the planner asks from then on."""

from typing import Any

from zoo.core.backends import BACKENDS
from zoo.core.engine import partition, planner
from zoo.core.errors import ConfigError


def add_backend(backend: Any) -> None:
    """Let the planner ask one more backend; what it chose before is forgotten.

    Call it when the module that defines the backend is imported. To add it again is no error.

    Args:
        backend: a `Backend`, with `name`, `refuses`, `cost` and `run`; it gives what `backend="reference"` gives, up to
            rounding.

    Raises:
        ConfigError: If a part is missing, or a backend of another class has the name.
    """
    lacking = [part for part in ("name", "refuses", "cost", "run") if not hasattr(backend, part)]
    if lacking:
        raise ConfigError(f"{type(backend).__name__} is no backend: it lacks {', '.join(lacking)}")
    known = BACKENDS.get(backend.name)
    if known is not None and type(known).__qualname__ != type(backend).__qualname__:
        raise ConfigError(
            f"there is a backend {backend.name!r} already ({type(known).__qualname__}): choose another name"
        )
    BACKENDS[backend.name] = backend
    planner.forget()
    partition.forget()
