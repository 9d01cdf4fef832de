"""Record the public names with their parameters, and compare them with griffe.

uv run python docs/public_names.py rewrites docs/public_names.txt; with `-` it prints them. The record is a stub that
griffe reads: a class stands for a package. Nothing of the zoo is imported. tests/test_public_names.py fails while the
record differs from the code, and says which differences break callers.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any

import griffe

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "docs" / "public_names.txt"
FOLDERS = {"zoo": ROOT / "zoo", "zoo.core": ROOT / "core"}
STARS = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}


def stubs() -> Iterator[tuple[str, Path]]:
    """Give each package of the zoo that has a list of public names; those of plugins are theirs."""
    yield "zoo", FOLDERS["zoo"] / "__init__.pyi"
    yield "zoo.core", FOLDERS["zoo.core"] / "__init__.pyi"
    for path in sorted(FOLDERS["zoo"].glob("*/__init__.pyi")):
        if path.parent.name not in ("core", "plugins"):
            yield f"zoo.{path.parent.name}", path


def record() -> str:
    """Write the stub of all public names: those of `zoo`, then a class for each other package."""
    tree = griffe.load("zoo", search_paths=[ROOT], allow_inspection=False)
    parts = []
    for package, stub in stubs():
        lines = "\n".join(sorted({written(name, found(tree, module, name)) for module, name in imported(stub)}))
        short = package.removeprefix("zoo.")
        parts.append(lines if package == "zoo" else f"class {short}:\n{indent(lines, '    ')}")
    return "\n".join(parts) + "\n"


def imported(stub: Path) -> Iterator[tuple[str, str]]:
    """Give the module and the name of each line of a list of public names; sub-packages have lists of their own."""
    packages = {package for package, _ in stubs()}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if f"{node.module}.{alias.name}" not in packages:
                    yield node.module, alias.name


def found(tree: Any, module: str, name: str) -> Any:
    """Find what a module defines, or imports from another of the zoo; None for what is not of the zoo."""
    path = f"{module}.{name}".partition(".")[2]
    value = tree.get_member(path) if path else tree
    if not value.is_alias:
        return value
    target, _, own = value.target_path.rpartition(".")
    return found(tree, target, own) if target.startswith("zoo") else None


def written(name: str, value: Any) -> str:
    """Write a function, a class with its public members, or anything else."""
    if value is not None and value.is_function:
        return f"def {name}({parameters(value)}): ..."
    if value is not None and value.is_class:
        shown = [written(each, member) for each, member in sorted(value.members.items()) if shows(each, member)]
        bases = f"({', '.join(map(str, value.bases))})" if value.bases else ""
        return f"class {name}{bases}:\n{indent(chr(10).join(shown) or '...', '    ')}"
    return f"{name} = ..."


def shows(name: str, member: Any) -> bool:
    """Tell whether a member of a class stands in the record."""
    return not member.is_alias and (name == "__init__" or not name.startswith("_"))


def parameters(function: Any) -> str:
    """Write parameters with their defaults, without types."""
    words, keywords = [], False
    for each in function.parameters:
        if each.kind is griffe.ParameterKind.keyword_only and not keywords:
            words.append("*")
        keywords |= each.kind in (griffe.ParameterKind.keyword_only, griffe.ParameterKind.var_positional)
        default = "" if each.kind in STARS or each.default is None else f"={each.default}"
        words.append(STARS.get(each.kind, "") + each.name + default)
    return ", ".join(words)


def breaks(before: str, after: str) -> list[str]:
    """Tell of each change that breaks a caller, as griffe finds them."""
    old, new = (griffe.visit("zoo", Path("zoo.pyi"), code) for code in (before, after))
    return [told(each) for each in griffe.find_breaking_changes(old, new)]


def told(change: griffe.Breakage) -> str:
    """Write a change: `zoo.create(name): Parameter was removed`."""
    value = change.old_value if change.old_value is not None else change.new_value
    which = f"({value.name})" if isinstance(value, griffe.Parameter) else ""
    return f"{change.obj.path}{which}: {change.kind.value}"


if __name__ == "__main__":
    text = record()
    if sys.argv[1:] == ["-"]:
        sys.stdout.write(text)
    else:
        try:
            lost = breaks(RECORD.read_text(encoding="utf-8"), text)
        except SyntaxError:
            lost = ["nobody knows: the record that was there cannot be read, as after a merge"]
        for line in lost:
            print(f"breaks callers, so deprecate it first (zoo.core.deprecated): {line}")
        RECORD.write_text(text, encoding="utf-8")
