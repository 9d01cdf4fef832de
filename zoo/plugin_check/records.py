"""Checks of the records that a plugin's hooks return: fields, names, entries, and what other plugins have."""

import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from zoo.errors import MissingLibraryError, PluginError
from zoo.factory.keywords import accepted
from zoo.names import did_you_mean, listed
from zoo.plugin_check.finding import Finding, error, warning
from zoo.registry.catalogue import KINDS, Kind, checked
from zoo.registry.entry_loading import load, require
from zoo.registry.lookup import Registry
from zoo.registry.moved_name import advice
from zoo.spec import ModelSpec

CLAIMS = ("causal", "permutation-equivariant")
_ARGUMENTS: dict[str, dict[str, int | None]] = {
    "ModelSpec": {
        "entry": None,
        "example": 3,
        "preprocess": 2,
        "postprocess": 1,
        "convert": 2,
        "configure": 4,
        "export": 1,
        "peer": 1,
    },
    "SourceSpec": {"corpus": 4, "entry": 2, "adapter": 4, "tables": 4, "pairs": 4},
    "AttentionSpec": {"entry": None},
    "StudySpec": {"entry": None},
}
"""Record to its entries, each with the number of arguments that the zoo calls it with; None where that is open."""


def records_of(plugin: Any, name: str, findings: list[Finding]) -> dict[str, list[Any]]:
    """Ask each hook of a plugin for its records, one alone, and note what cannot be had."""
    found: dict[str, list[Any]] = {}
    for kind in KINDS:
        hook = getattr(plugin, kind.hook, None)
        if hook is None or not hasattr(getattr(hook, "__func__", hook), "zoo_impl"):
            continue
        try:
            found[kind.hook] = checked(kind, [hook()], name)
        except PluginError as problem:
            findings.append(error(kind.hook, str(problem), f"return {kind.record.__name__} records with legal names"))
        except TypeError as problem:
            findings.append(_field(kind, problem))
        except Exception as problem:
            mend = f"run {kind.hook}() alone and mend what it shows"
            findings.append(error(kind.hook, f"raises {type(problem).__name__}: {problem}", mend))
    return found


def _field(kind: Kind[Any], problem: TypeError) -> Finding:
    """Explain the error of a record that was made with a field too many, or too few."""
    record, known = kind.record.__name__, [each.name for each in fields(kind.record) if each.name != "plugin"]
    if match := re.search(r"unexpected keyword argument '(\w+)'", str(problem)):
        near = did_you_mean(match[1], known)
        return error(kind.hook, f"{record} has no field '{match[1]}'.{near}", f"its fields are {', '.join(known)}")
    if match := re.search(r"missing \d+ required keyword-only arguments?: (.*)", str(problem)):
        return error(kind.hook, f"{record} lacks {match[1]}", f"write {match[1]} too")
    return error(kind.hook, f"raises {problem}", f"run {kind.hook}() alone and mend what it shows")


def check_clashes(records: dict[str, list[Any]], others: Registry) -> Iterator[Finding]:
    """Find names that another plugin offers too: the short name then works for nobody.

    Args:
        records: of the plugin, by hook.
        others: registry of all plugins.
    """
    catalogues: tuple[Any, ...] = (
        others.models,
        others.attentions,
        others.sources,
        others.studies,
        others.comparisons,
        others.suites,
    )
    for kind, catalogue in zip(KINDS, catalogues, strict=True):
        for record in records.get(kind.hook, ()):
            owners = [each.plugin for each in catalogue if each.name == record.name and each.plugin != record.plugin]
            if owners:
                fault = f"plugin {listed(owners)} has a {kind.noun} of this name, so it is ambiguous for all"
                yield error(record.name, fault, f"rename it, such as '{record.plugin}-{record.name}'")


def check_entries(record: Any) -> Iterator[Finding]:
    """Import what a record refers to, and compare its parameters with the arguments that the zoo gives."""
    kind = type(record).__name__
    try:
        require(record.name, getattr(record, "requires", ()))
    except MissingLibraryError as problem:
        yield warning(record.name, f"could not be checked: {problem}", "install it and check again")
        return
    for name, count in _ARGUMENTS.get(kind, {}).items():
        entry = getattr(record, name)
        if entry:
            yield from _check_entry(record, name, entry, count)


def _check_entry(record: Any, name: str, entry: str, count: int | None) -> Iterator[Finding]:
    where = f"{record.name}.{name}"
    try:
        found = load(record, entry)
    except Exception as problem:
        cause = problem.__cause__ or problem
        mend = advice(cause).lstrip(". ") or "correct the entry or its file"
        yield error(where, f"{entry!r} does not import: {type(cause).__name__}: {cause}", mend)
        return
    if type(record).__name__ == "StudySpec" and not callable(found):
        from zoo.bench.study.definition import GridStudy

        if isinstance(found, GridStudy):
            return
    if not callable(found):
        yield error(where, f"{entry!r} is a {type(found).__name__} and cannot be called", "name a function or a class")
    elif count is not None:
        try:
            inspect.signature(found).bind(*[None] * count)
        except TypeError as problem:
            takes = inspect.signature(found)
            yield error(
                where, f"{entry}{takes} cannot be called with {count} arguments: {problem}", "see docs/plugins.md"
            )


def check_model(spec: ModelSpec) -> Iterator[Finding]:
    """Check what a model's record says of itself: configuration, task, claims, places of weights."""
    try:
        if json.loads(json.dumps(spec.config)) != spec.config:
            yield error(spec.name, "config changes when it is written as JSON", "use lists for tuples, texts for keys")
    except TypeError as problem:
        yield error(spec.name, f"config is no JSON: {problem}", "use numbers, texts, lists and dictionaries only")
    if spec.task not in spec.tasks:
        yield error(spec.name, f"task {spec.task!r} is not among tasks {spec.tasks}", f"add {spec.task!r} to tasks")
    for claim in {*spec.claims} - {*CLAIMS}:
        yield error(
            spec.name, f"claim {claim!r} is not known.{did_you_mean(claim, CLAIMS)}", f"use {' or '.join(CLAIMS)}"
        )
    for tag, place in spec.weights.items():
        if not place.startswith(("hf-hub:", "local-dir:")):
            yield error(spec.name, f"weights {tag!r} are at {place!r}", "write hf-hub:org/name or local-dir:PATH")


def check_keywords(spec: ModelSpec) -> Iterator[Finding]:
    """Find keywords that nobody checks, and those of the configuration that the entry does not have."""
    try:
        named, anything = accepted(load(spec))
    except Exception:
        return  # check_entries tells it
    if anything:
        mend = "name every keyword in its signature, or check those that come and raise zoo.ConfigError"
        yield warning(spec.name, f"{spec.entry} takes **keywords, so a misspelt one of a user is no error", mend)
    for keyword in sorted({*spec.config} - {*named, "task"}) if not anything else ():
        fault = f"config has {keyword!r}, which {spec.entry} does not take.{did_you_mean(keyword, named)}"
        yield error(spec.name, fault, f"add it to the signature or remove it from config; it takes {listed(named)}")
    needed = [key for key, default in named.items() if default is inspect.Parameter.empty and key not in spec.config]
    if needed:
        yield error(spec.name, f"{spec.entry} needs {listed(needed)}, which config lacks", "add them to config")


def check_parameters(spec: ModelSpec) -> Iterator[Finding]:
    """Build a model without memory, and compare its number of parameters with the declared one."""
    from zoo.factory.create import create

    try:
        real = create(spec.full_name, device="meta").spec.parameters  # type: ignore[union-attr]
    except MissingLibraryError:
        return  # check_entries tells it
    except Exception as problem:
        fault = f"cannot be built: {type(problem).__name__}: {problem}"
        yield error(spec.name, fault, f"run zoo.create('{spec.name}', device='meta') and mend what it shows")
        return
    if spec.parameters is None:
        yield warning(spec.name, "declares no number of parameters", f"write parameters={real:_}")
    elif spec.parameters != real:
        yield error(
            spec.name, f"declares {spec.parameters:,} parameters and has {real:,}", f"write parameters={real:_}"
        )
