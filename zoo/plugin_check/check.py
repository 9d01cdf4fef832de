"""`check_plugin`: all checks of one plugin, from its entry point to the parameters of its models."""

import traceback
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from zoo.errors import ConfigError, PluginError
from zoo.names import check_legal, did_you_mean, normalise, normalise_distribution
from zoo.plugin_check.distribution import check_distribution, distribution_of
from zoo.plugin_check.finding import Finding, error
from zoo.plugin_check.hooks import check_hooks, check_version
from zoo.plugin_check.listing_cost import check_cost
from zoo.plugin_check.records import (
    check_clashes,
    check_entries,
    check_keywords,
    check_model,
    check_parameters,
    records_of,
)
from zoo.registry import discovery
from zoo.registry.discovery import Candidate
from zoo.registry.lookup import Registry, registry, using
from zoo.registry.moved_name import advice
from zoo.registry.plugin_host import RESERVED


def candidates(name: str = "") -> list[Candidate]:
    """Find the plugins to check: the one of a name, a distribution or a module; all that others wrote without a name.

    Raises:
        ConfigError: If there is none of that name.
    """
    installed = discovery.installed()
    if not name:
        return installed
    found = [each for each in [*installed, *discovery.built_in()] if _is_named(each, name)]
    if not found and ("." in name or _importable(name)):
        return [discovery.given(name)]
    if not found:
        known = [each.name for each in [*installed, *discovery.built_in()]]
        raise ConfigError(
            f"no plugin {name!r} is installed.{did_you_mean(name, known)} Write the name of a plugin "
            f"({', '.join(known)}), or of a module such as zoo_mine.plugin"
        )
    return found


def check_plugin(candidate: Candidate) -> list[Finding]:
    """Check a plugin: imports, hooks, records, and each model; the first fault is told first."""
    findings = [*_check_entry_point(candidate)]
    try:
        plugin = candidate.load()
    except (Exception, SystemExit) as problem:
        findings.append(_broken(candidate, problem))
        return findings
    module = plugin.__name__ if isinstance(plugin, ModuleType) else ""
    findings += check_version(plugin)
    findings += check_hooks(plugin)
    records = records_of(plugin, candidate.name, findings)
    every = [record for found in records.values() for record in found]
    if module:
        needed = {each.module for record in every for each in getattr(record, "requires", ())}
        findings += check_cost(module, needed)
        if not candidate.built_in and (found := distribution_of(candidate.distribution, module)):
            findings += check_distribution(found, module, every)
    findings += _check_records(candidate, plugin, records)
    return findings


def _check_entry_point(candidate: Candidate) -> Iterator[Finding]:
    """Check the name that the entry point gives the plugin."""
    where = f"entry point '{candidate.name}'"
    try:
        check_legal(candidate.name, "plugin")
    except PluginError as problem:
        yield error(where, str(problem), "rename it in pyproject.toml and install the package again")
    if candidate.name in RESERVED:
        yield error(where, "is a reserved name", "rename it in pyproject.toml and install the package again")
    every = [*discovery.built_in(), *discovery.installed()]
    rivals = [each for each in every if each.name == candidate.name and each.distribution != candidate.distribution]
    for rival in rivals if not candidate.built_in else ():
        yield error(where, f"{rival} has this name too, so neither is loaded", "rename it, or uninstall the other")


def _broken(candidate: Candidate, problem: BaseException) -> Finding:
    """Tell where a plugin's own file failed: the innermost line that is not of the import system."""
    frames = [frame for frame in traceback.extract_tb(problem.__traceback__) if "importlib" not in frame.filename]
    own = [frame for frame in frames if frame.filename != __file__]
    place = f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""
    cause = f"{type(problem).__name__}: {problem}".rstrip(": ") + advice(problem)
    mend = "mend that line, or correct the entry point"
    return error(f"entry point '{candidate.name}'", f"does not import: {cause}{place}", mend)


def _check_records(candidate: Candidate, plugin: Any, records: dict[str, list[Any]]) -> Iterator[Finding]:
    """Check each record, and build each model without memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a plugin that is left out, which the findings tell
        yield from check_clashes(records, registry())
        for found in records.values():
            for record in found:
                yield from check_entries(record)
        given = [] if candidate.built_in else [plugin]
        with using(Registry(["zoo.registry.builtin", *given], autoload=candidate.built_in)) as own:
            loaded = {spec.name: spec for spec in own.models}
            for spec in records.get("zoo_models", ()):
                yield from check_model(spec)
                yield from check_keywords(spec)
                if spec.name in loaded:
                    yield from check_parameters(loaded[spec.name])


def _is_named(candidate: Candidate, name: str) -> bool:
    return candidate.name == normalise(name) or (
        not candidate.built_in and normalise_distribution(candidate.distribution) == normalise_distribution(name)
    )


def _importable(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False
