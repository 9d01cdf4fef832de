"""Checks of a plugin's distribution: what its metadata say it needs, and what its files import."""

import ast
import functools
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points, packages_distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from zoo.names import did_you_mean, listed, normalise_distribution
from zoo.plugin_check.finding import Finding, error, warning
from zoo.registry.discovery import GROUP

ZOO = "attention-zoo"


_libraries = functools.cache(packages_distributions)  # reads the metadata of all that is installed


def distribution_of(name: str, module: str) -> Distribution | None:
    """Find the distribution of a plugin by its name, or by the entry point of its module; None if it has none."""
    if not name:
        owners = (entry.dist for entry in entry_points(group=GROUP) if entry.value.partition(":")[0] == module)
        return next(owners, None)
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def check_distribution(found: Distribution, module: str, records: Iterable[Any]) -> Iterator[Finding]:
    """Check the metadata of a plugin's distribution against its records and the imports of its files."""
    name, declared = found.metadata["Name"], _declared(found)
    if ZOO not in declared and normalise_distribution(name) != ZOO:
        yield warning("pyproject.toml", f"{name} does not depend on {ZOO}", f'add "{ZOO}" to dependencies')
    for record in records:
        for requirement in getattr(record, "requires", ()):
            yield from _check_extra(record.name, requirement.install, name)
    known = declared | _declared_by_zoo() | {normalise_distribution(name), ZOO}
    needed = {normalise_distribution(r.distribution) for record in records for r in getattr(record, "requires", ())}
    package = module.partition(".")[0]
    trees, broken = _parse(package)
    for file, library, owners in _foreign_imports(package, trees):
        if not known & owners and not needed & owners:
            fault = f"imports {library}, which neither the dependencies nor a record's requires= name"
            yield warning(
                file, fault, f"add {listed(sorted(owners), 'or')} to an extra, and a zoo.Requirement to the record"
            )
    yield from broken


def _check_extra(record: str, install: str, own: str) -> Iterator[Finding]:
    """Check that the extra which a requirement tells users to install is there."""
    match = re.fullmatch(r"([\w.-]+)\[([\w.,-]+)\].*", install)
    if match is None:
        return
    try:
        provided = {normalise_distribution(e) for e in distribution(match[1]).metadata.get_all("Provides-Extra") or ()}
    except PackageNotFoundError:
        yield warning(
            record, f"tells users to install {install!r}, and {match[1]} is not installed", "correct its name"
        )
        return
    for extra in match[2].split(","):
        if normalise_distribution(extra) not in provided:
            mend = f"add [{extra}] to the optional dependencies of {own}, or correct install={install!r}"
            yield error(record, f"{match[1]} has no extra [{extra}].{did_you_mean(extra, provided)}", mend)


def _declared(found: Distribution) -> set[str]:
    """Name the distributions that one depends on, its extras included."""
    names = (re.match(r"[\w.-]+", each) for each in found.requires or ())
    return {normalise_distribution(match[0]) for match in names if match}


def _declared_by_zoo() -> set[str]:
    """Name what the zoo needs without extras: whoever has the zoo has these."""
    try:
        requires = distribution(ZOO).requires or ()
    except PackageNotFoundError:
        return {"torch"}
    return {
        normalise_distribution(m[0]) for each in requires if "extra" not in each and (m := re.match(r"[\w.-]+", each))
    }


def _foreign_imports(package: str, trees: Iterable[tuple[Path, ast.AST]]) -> Iterator[tuple[str, str, set[str]]]:
    """Give each library that the files of a plugin import first, with the distributions that have it."""
    owners, seen = _libraries(), {package, "zoo", *sys.stdlib_module_names}
    for path, tree in trees:
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for library in {name.partition(".")[0] for name in names} - seen:
                seen.add(library)
                if library in owners:
                    yield path.name, library, {normalise_distribution(each) for each in owners[library]}


def _parse(package: str) -> tuple[list[tuple[Path, ast.AST]], list[Finding]]:
    """Read the files of a plugin, each once: their syntax trees, and a finding for each that is no Python."""
    trees: list[tuple[Path, ast.AST]] = []
    broken: list[Finding] = []
    for path in _files(package):
        try:
            trees.append((path, ast.parse(path.read_text(encoding="utf-8"))))
        except (SyntaxError, UnicodeDecodeError) as problem:
            broken.append(error(path.name, f"is no Python: {problem}", "mend that line"))
    return trees, broken


def _files(package: str) -> list[Path]:
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return []
    if spec is None or spec.origin is None:
        return []
    origin = Path(spec.origin)
    return sorted(origin.parent.rglob("*.py")) if spec.submodule_search_locations else [origin]
