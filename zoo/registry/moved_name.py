"""What to write instead of an import of the zoo that is gone: the public name, where there is one."""

import ast
import traceback
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("zoo", "zoo.core", "zoo.data", "zoo.bench", "zoo.weights", "zoo.registry", "zoo.viz")
"""Packages whose names stay, in the order in which they are asked."""


def advice(error: BaseException) -> str:
    """Say which public names stand for what an import asked for; empty for any other error.

    A plugin that was written for an earlier zoo may import a module that has another place now. Modules may move,
    public names stay.
    """
    if not isinstance(error, ImportError) or not f"{error.name}.".startswith("zoo."):
        return ""
    names = imported(error)
    lines = [line for name in names if (line := public_import(name))]
    if not lines:
        return f". This version has no public name {' or '.join(names)}: docs/plugins.md, 'What stays'"
    return f". Modules may move, public names stay: write `{'`, `'.join(dict.fromkeys(lines))}`"


def imported(error: ImportError) -> list[str]:
    """Give the names that the failing file imports from the module that failed; else the module's last part."""
    found: list[str] = []
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename.endswith(".py") and "importlib" not in frame.filename:
            found = [
                alias.name
                for node in ast.walk(ast.parse(Path(frame.filename).read_text(encoding="utf-8")))
                if isinstance(node, ast.ImportFrom) and node.module == error.name and node.lineno == frame.lineno
                for alias in node.names
            ] or found
    return found or [str(error.name).rpartition(".")[2]]


def public_import(name: str) -> str:
    """Give the line that imports a public name; empty where no package has it. No package is imported for it."""
    for package in PACKAGES:
        spec = find_spec(package)
        stub = Path(str(spec and spec.origin)).with_suffix(".pyi")
        text = stub.read_text(encoding="utf-8") if stub.exists() else ""
        if any(alias.asname == name for alias in ast.walk(ast.parse(text)) if isinstance(alias, ast.alias)):
            return f"from {package} import {name}"
    return ""
