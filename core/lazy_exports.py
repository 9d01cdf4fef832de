"""Package exports that are imported at first use, so that `import zoo` stays light (PEP 562).

The one list of a package's public names is its stub, `__init__.pyi`: type checkers read it, and so does `attach`.

    from zoo.core.lazy_exports import attach
    __getattr__, __dir__, __all__ = attach(__name__, __file__)

The stub holds a docstring and absolute imports, `from package.module import name as name`; several names stand behind
one another or in brackets, a line each. A submodule is `from package import module as module`. What is imported without
`as` is not public. This file imports almost nothing, and reads the stub without the parser of Python, since every start
pays for it.
"""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module


def attach(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Make the `__getattr__`, `__dir__` and `__all__` of a package from the imports of its stub.

    As `attach_stub` of lazy_loader (scientific-python.org/specs/spec-0001), for absolute imports. The loader of the
    package reads the stub, so a package in a zip file works.

    Args:
        package: the package's `__name__`.
        file: the package's `__file__`; the stub lies beside it.
    """
    loader = sys.modules[package].__spec__.loader  # type: ignore[union-attr]
    stub = loader.get_data(file.rpartition(".")[0] + ".pyi").decode()  # type: ignore[union-attr]
    table = {
        name: module
        for module, imported in _imports(stub)
        for name, _, shown in (alias.strip().partition(" as ") for alias in imported.split(","))
        if name and name == shown  # the mark of a public name in a stub (PEP 484)
    }

    def getattribute(name: str) -> object:
        if name not in table:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if table[name] == package:
            return import_module(f"{package}.{name}")
        return getattr(import_module(table[name]), name)

    return getattribute, lambda: sorted(table), sorted(table)


def _imports(stub: str) -> Iterator[tuple[str, str]]:
    """Give the module and the names of each import statement that begins a line."""
    lines = "\n".join(line.partition("#")[0].rstrip() for line in stub.splitlines())
    for statement in f"\n{lines}".split("\nfrom ")[1:]:
        module, _, imported = statement.partition(" import ")
        end = ")" if imported.startswith("(") else "\n"
        yield module, imported.partition(end)[0].lstrip("(")
