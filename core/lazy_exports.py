"""Package exports that are imported at first use, so that `import zoo` stays light (PEP 562).

The one list of a package's public names is its stub, `__init__.pyi`: type checkers read it, and so does `attach`.
"""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make the `__getattr__`, `__dir__` and `__all__` of a package from the imports of its stub.

    As `attach_stub` of lazy_loader (scientific-python.org/specs/spec-0001), for absolute imports.

    Args:
        package: the package's `__name__`.
        file: the package's `__file__`; the stub lies beside it.
    """
    tree = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    table = {
        alias.name: node.module or ""
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name  # the mark of a public name in a stub (PEP 484)
    }

    def getattribute(name: str) -> Any:
        if name not in table:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if table[name] == package:
            return import_module(f"{package}.{name}")
        return getattr(import_module(table[name]), name)

    return getattribute, lambda: sorted(table), sorted(table)
