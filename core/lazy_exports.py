"""Package exports that are imported at first use, so that `import zoo` stays light (PEP 562)."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def exports(package: str, table: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the `__getattr__` and `__dir__` of a package.

    Args:
        package: the package's `__name__`.
        table: public name to the module that defines it; the package itself, where the name is one of its modules.
    """

    def getattribute(name: str) -> Any:
        if name not in table:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if table[name] == package:
            return import_module(f"{package}.{name}")
        return getattr(import_module(table[name]), name)

    return getattribute, lambda: sorted(table)
