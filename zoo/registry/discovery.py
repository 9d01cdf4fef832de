"""Discovery of plugins: their sources in a fixed order, and which of them may be imported.

ZOO_LOAD_PLUGINS=a,b       only these, besides the built-in ones; empty: the built-in ones only
ZOO_DISABLE_PLUGINS=a,b    never these; both match the plugin's name or its distribution's
ZOO_PLUGIN_STRICT=1        a plugin that fails raises at once
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from zoo.names import normalise, normalise_distribution
from zoo.version import __version__

GROUP = "zoo.plugins"
BUILT_IN = (
    "zoo.registry.builtin",
    *(f"zoo.plugins.{name}.plugin" for name in ("vision", "text", "speech", "conformer", "graph", "caption", "joined")),
)


@dataclass(frozen=True)
class Candidate:
    """Plugin that was found but not imported yet: name, origin and how to load it."""

    name: str
    distribution: str
    version: str
    load: Callable[[], Any]
    built_in: bool = False

    def __str__(self) -> str:
        source = " ".join(part for part in (self.distribution, self.version) if part)
        return f"'{self.name}'" + (f" ({source})" if source else "")


def built_in() -> list[Candidate]:
    """List the plugins that come with the zoo."""
    return [
        Candidate(_module_name(module), "attention-zoo", __version__, partial(import_module, module), built_in=True)
        for module in BUILT_IN
    ]


def installed() -> list[Candidate]:
    """List the plugins of other distributions, sorted by distribution and name."""
    found = [
        Candidate(normalise(entry.name), entry.dist.name, entry.dist.version, entry.load)
        for entry in entry_points(group=GROUP)
        if entry.dist is not None
    ]
    return sorted(found, key=lambda c: (normalise_distribution(c.distribution), c.name))


def given(plugin: Any) -> Candidate:
    """Wrap a module, a module's name or any other object with hook implementations."""
    if isinstance(plugin, str):
        return Candidate(_module_name(plugin), "", "", partial(import_module, plugin))
    name = getattr(plugin, "__name__", None) or type(plugin).__name__
    return Candidate(_module_name(name), "", "", lambda: plugin)


def disabled(candidate: Candidate) -> str:
    """Say why a plugin may not be imported; an empty string where it may."""
    if _named(candidate, _listed("ZOO_DISABLE_PLUGINS") or ()):
        return "named in ZOO_DISABLE_PLUGINS"
    allowed = _listed("ZOO_LOAD_PLUGINS")
    if allowed is None or candidate.built_in or _named(candidate, allowed):
        return ""
    return "not named in ZOO_LOAD_PLUGINS"


def strict() -> bool:
    """Say whether a plugin that fails raises at once."""
    return os.environ.get("ZOO_PLUGIN_STRICT", "") not in ("", "0")


def _module_name(module: str) -> str:
    parts = module.split(".")
    return normalise(parts[-2] if len(parts) > 1 and parts[-1] == "plugin" else parts[-1]).strip("-")


def _listed(variable: str) -> list[str] | None:
    text = os.environ.get(variable)
    return None if text is None else [part for part in text.split(",") if part.strip()]


def _named(candidate: Candidate, names: Iterable[str]) -> bool:
    own = {normalise_distribution(candidate.name), normalise_distribution(candidate.distribution)} - {""}
    return not own.isdisjoint(map(normalise_distribution, names))
