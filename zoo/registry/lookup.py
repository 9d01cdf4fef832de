"""The registry: finds models, attentions, sources, studies, comparisons and suites by name in a set of plugins.

Discovery happens at first use, once: built-in plugins, then installed ones by distribution and name, then those given.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import RLock
from typing import Any, cast

from zoo.errors import PluginError, UnknownModelError
from zoo.names import normalise, split_prefix
from zoo.registry import discovery
from zoo.registry.catalogue import ATTENTIONS, COMPARISONS, MODELS, SOURCES, STUDIES, SUITES, Catalogue, Kind, Record
from zoo.registry.plugin_host import Host, warn
from zoo.registry.unknown_name import unknown_model, unknown_tag
from zoo.spec import AttentionSpec, ComparisonSpec, ModelSpec, PluginInfo, SourceSpec, StudySpec, SuiteSpec


class Registry:
    """Registry of models, attentions, sources, studies, comparisons and suites of all plugins.

    Args:
        plugins: modules, module names or objects with hook implementations.
        autoload: also take the built-in and the installed plugins.
    """

    def __init__(self, plugins: Sequence[Any] = (), *, autoload: bool = True) -> None:
        self._given = tuple(plugins)
        self._autoload = autoload
        self._lock = RLock()
        self._loaded: Host | None = None
        self._catalogues: dict[str, tuple[list[str], Any]] = {}
        self._busy = False

    @property
    def models(self) -> Catalogue[ModelSpec]:
        """Give the models that plugins name."""
        return self._catalogue(MODELS)

    @property
    def attentions(self) -> Catalogue[AttentionSpec]:
        """Give what `attention=` can name."""
        return self._catalogue(ATTENTIONS)

    @property
    def sources(self) -> Catalogue[SourceSpec]:
        """Give what `zoo bench --data` can name."""
        return self._catalogue(SOURCES)

    @property
    def studies(self) -> Catalogue[StudySpec]:
        """Give what `zoo bench` can run."""
        return self._catalogue(STUDIES)

    @property
    def comparisons(self) -> Catalogue[ComparisonSpec]:
        """Give what `zoo bench data-size --modality` compares."""
        return self._catalogue(COMPARISONS)

    @property
    def suites(self) -> Catalogue[SuiteSpec]:
        """Give what `zoo bench speed --suite` can run."""
        return self._catalogue(SUITES)

    def plugins(self) -> list[PluginInfo]:
        """Return the status of each plugin, in the order of discovery."""
        return list(self._host().infos)

    def find(self, name: str) -> tuple[ModelSpec, str]:
        """Find the model behind `[plugin:]family-size[.tag]`, or the one that a plugin resolves, and the tag.

        Raises:
            UnknownModelError: If there is no such model or tag.
            AmbiguousNameError: If two plugins offer the short name.
        """
        prefix, rest = split_prefix(name)
        short, _, tag = rest.partition(".")
        if spec := self.models.get(short, prefix):
            tags = {normalise(known): known for known in spec.weights}
            if tag and normalise(tag) not in tags:
                raise unknown_tag(tag, spec)
            return spec, tags.get(normalise(tag), "")
        if resolved := (prefix and self._resolve(rest, normalise(prefix))) or self._resolve(name):
            return resolved, ""
        error, cause = unknown_model(name, self.models, self.plugins(), self._host().failures)
        raise error from cause

    def call(self, hook: str, **arguments: Any) -> None:
        """Call a hook of each plugin in order; one that fails is taken out, but a ZooError is passed on."""
        host = self._host()
        for name in list(host.records):
            host.guarded(name, partial(host.ask, name, hook, **arguments))

    def _resolve(self, name: str, plugin: str = "") -> ModelSpec | None:
        host = self._host()

        def resolved(owner: str) -> ModelSpec | None:
            spec = host.ask(owner, "zoo_resolve", name=name)
            if spec is not None and type(spec) is not ModelSpec:
                raise PluginError(f"zoo_resolve returned {spec!r}: it returns a ModelSpec or None")
            return spec and replace(spec, plugin=owner)

        refused: list[UnknownModelError] = []
        for owner in [owner for owner in host.records if plugin in ("", owner)]:
            try:
                spec = host.guarded(owner, partial(resolved, owner))
            except UnknownModelError as error:
                refused.append(error)  # another plugin may have the name
                continue
            if spec:
                return spec
        if refused:
            raise refused[0]
        return None

    def _catalogue(self, kind: Kind[Record]) -> Catalogue[Record]:
        offers: dict[str, dict[str, list[Any]]] = self._host().records
        plugins, catalogue = self._catalogues.get(kind.hook, (None, None))
        if plugins != [*offers]:  # a plugin that fails is taken out
            catalogue = Catalogue(kind, [record for offer in offers.values() for record in offer[kind.hook]])
            self._catalogues[kind.hook] = [*offers], catalogue
        return cast(Catalogue[Record], catalogue)

    def _host(self) -> Host:
        if self._loaded is None:
            with self._lock:
                if self._busy:
                    raise PluginError("a plugin asked the registry that was asking it: hooks only return records")
                if self._loaded is None:
                    self._discover()
        assert self._loaded is not None
        return self._loaded

    def _discover(self) -> None:
        self._busy = True
        try:
            own = [*discovery.built_in(), *discovery.installed()] if self._autoload else []
            self._loaded = Host([*own, *map(discovery.given, self._given)])
        finally:
            self._busy = False
        # Last, because a filter may turn these into errors, and what was discovered stays valid.
        for info in self._loaded.infos:
            if info.status in ("failed", "incompatible"):
                warn(info)


_current = Registry()


def registry() -> Registry:
    """Give the registry that `zoo.create` and the command line ask."""
    return _current


@contextmanager
def using(other: Registry) -> Iterator[Registry]:
    """Let everything in a with-block ask another registry."""
    global _current
    before, _current = _current, other
    try:
        yield other
    finally:
        _current = before
