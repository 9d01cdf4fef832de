"""Record the public names with their parameters.

uv run python docs/public_names.py rewrites docs/public_names.txt; with `-` it prints them.
tests/test_public_names.py fails while the record differs from the code, and says which differences break callers.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "docs" / "public_names.txt"
FOLDERS = {"zoo": ROOT / "zoo", "zoo.core": ROOT / "core"}


def stubs() -> Iterator[tuple[str, Path]]:
    """Give each package of the zoo that has a list of public names; those of plugins are theirs."""
    yield "zoo", FOLDERS["zoo"] / "__init__.pyi"
    yield "zoo.core", FOLDERS["zoo.core"] / "__init__.pyi"
    for path in sorted(FOLDERS["zoo"].glob("*/__init__.pyi")):
        if path.parent.name not in ("core", "plugins"):
            yield f"zoo.{path.parent.name}", path


def public_names() -> list[str]:
    """Give a line for each public name, and for each public member of a public class."""
    lines = []
    for package, stub in stubs():
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    value = getattr(import_module(package), alias.name)
                    lines += described(f"{package}.{alias.name}", value)
    return sorted({*lines})


def described(name: str, value: Any) -> Iterator[str]:
    """Give the line of a name, and those of the members that a class of the zoo defines itself."""
    yield name + parameters(value)
    if inspect.isclass(value) and value.__module__.startswith("zoo"):
        for member, found in vars(value).items():
            if not member.startswith("_") and (
                callable(found) or isinstance(found, property | classmethod | staticmethod)
            ):
                function = getattr(found, "__func__", found)
                yield f"{name}.{member}" + ("" if isinstance(found, property) else parameters(function))


def parameters(value: Any) -> str:
    """Write parameters as `(x, *, y=)`: an equals sign stands for a default; nothing for what cannot be called."""
    try:
        called = inspect.isclass(value) or inspect.isroutine(value)  # and not an alias of a type
        found = inspect.signature(value).parameters.values() if called else None
    except (TypeError, ValueError):
        found = None
    if found is None:
        return ""
    words, keywords = [], False
    for parameter in found:
        if parameter.kind is parameter.KEYWORD_ONLY and not keywords:
            words.append("*")
        keywords |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        words.append(star + parameter.name + ("" if parameter.default is parameter.empty else "="))
    return f"({', '.join(words)})"


def breaks(before: Iterable[str], after: Iterable[str]) -> list[str]:
    """Tell of each change that breaks a caller: a name that is gone, a parameter that is gone, moved, or needed now."""
    own, told = {name_of(line): words_of(line) for line in after}, []
    for line in before:
        name, old = name_of(line), words_of(line)
        new = own.get(name)
        if new is None:
            told.append(f"{name} is gone")
            continue
        if gone := [word for word in plain(old) if word not in plain(new) and not any(w.startswith("**") for w in new)]:
            told.append(f"{name} has lost {', '.join(gone)}")
        if needed := [word for word in plain(new) if word not in plain(old) and word in new]:
            told.append(f"{name} needs {', '.join(needed)} now")
        if needed := [word for word in plain(old) if f"{word}=" in old and word in new]:
            told.append(f"{name} needs {', '.join(needed)} now")
        kept = [word for word in by_place(old) if word in plain(new)]
        if not gone and by_place(new)[: len(kept)] != kept:
            told.append(f"{name} has its arguments in another order")
    return told


def name_of(line: str) -> str:
    """Give the name of a line."""
    return line.partition("(")[0]


def words_of(line: str) -> list[str]:
    """Give the parameters of a line."""
    return [word for word in re.split(r", |\(|\)", line)[1:] if word]


def plain(words: Iterable[str]) -> list[str]:
    """Give names of parameters, without stars and defaults."""
    return [word.removesuffix("=") for word in words if not word.startswith("*")]


def by_place(words: list[str]) -> list[str]:
    """Give the parameters that may be given by place."""
    end = next((place for place, word in enumerate(words) if word.startswith("*")), len(words))
    return plain(words[:end])


if __name__ == "__main__":
    text = "\n".join(public_names()) + "\n"
    if sys.argv[1:] == ["-"]:
        sys.stdout.write(text)
    else:
        RECORD.write_text(text, encoding="utf-8")
