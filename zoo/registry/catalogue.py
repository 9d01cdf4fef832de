"""`Catalogue`: the records of one kind that plugins register, found by short or full name."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from zoo.errors import AmbiguousNameError, ConfigError, DataError, PluginError, UnknownModelError, ZooError
from zoo.names import check_legal, did_you_mean, listed, natural, normalise, split_prefix
from zoo.spec import AttentionSpec, ComparisonSpec, ModelSpec, SourceSpec, StudySpec, SuiteSpec

Record = TypeVar("Record", ModelSpec, AttentionSpec, SourceSpec, StudySpec, ComparisonSpec, SuiteSpec)


@dataclass(frozen=True)
class Kind(Generic[Record]):
    """Kind of record: the hook that returns it, and its noun in errors."""

    hook: str
    record: type[Record]
    noun: str
    unknown: type[ZooError]


MODELS = Kind("zoo_models", ModelSpec, "model", UnknownModelError)
ATTENTIONS = Kind("zoo_attentions", AttentionSpec, "attention", ConfigError)
SOURCES = Kind("zoo_sources", SourceSpec, "source", DataError)
STUDIES = Kind("zoo_studies", StudySpec, "study", ConfigError)
COMPARISONS = Kind("zoo_comparisons", ComparisonSpec, "modality", ConfigError)
SUITES = Kind("zoo_suites", SuiteSpec, "suite", ConfigError)
KINDS: tuple[Kind[Any], ...] = (MODELS, ATTENTIONS, SOURCES, STUDIES, COMPARISONS, SUITES)


def checked(kind: Kind[Record], results: Iterable[Any], plugin: str) -> list[Record]:
    """Check what a plugin's hook returned and note the plugin in each record.

    Raises:
        PluginError: If a record is of another type, a name is not legal, or two names are equal after normalising.
    """
    records: dict[str, Record] = {}
    for result in results:
        for record in result:
            if type(record) is not kind.record:
                raise PluginError(f"{kind.hook} returned {record!r}: it returns {kind.record.__name__} records only")
            check_legal(record.name, kind.noun)
            if record.name in records:
                raise PluginError(f"{kind.hook} returned the name '{record.name}' twice")
            records[record.name] = replace(record, plugin=plugin)
    return list(records.values())


class Catalogue(Generic[Record]):
    """Records of one kind from all plugins, found by name."""

    def __init__(self, kind: Kind[Record], records: Iterable[Record]) -> None:
        self.kind: Kind[Record] = kind
        self._offers: dict[str, list[Record]] = {}
        for record in records:
            self._offers.setdefault(normalise(record.name), []).append(record)

    def __iter__(self) -> Iterator[Record]:
        """Iterate over the records by name in natural order."""
        for name in sorted(self._offers, key=natural):
            yield from sorted(self._offers[name], key=lambda record: natural(record.plugin))

    def short(self, record: Record) -> str:
        """Return the shortest unambiguous name of a record."""
        alone = len(self._offers[normalise(record.name)]) == 1
        return record.name if alone else f"{record.plugin}:{record.name}"

    def names(self) -> list[str]:
        """List a name for each record, with the plugin where two plugins offer the same."""
        return [self.short(record) for record in self]

    def get(self, name: str, plugin: str = "") -> Record | None:
        """Find a record by short name, or among those of one plugin.

        Raises:
            AmbiguousNameError: If two plugins offer the name and none is given.
        """
        offers = self._offers.get(normalise(name), [])
        if plugin:
            offers = [record for record in offers if normalise(record.plugin) == normalise(plugin)]
        if len(offers) > 1:
            owners = sorted((record.plugin for record in offers), key=natural)
            full = [f"{owner}:{offers[0].name}" for owner in owners]
            raise AmbiguousNameError(
                f"{self.kind.noun.capitalize()} '{offers[0].name}' is offered by plugins {listed(owners)}: "
                f"write {listed(full, 'or')}"
            )
        return offers[0] if offers else None

    def split(self, text: str) -> tuple[Record, str]:
        """Find the record that `[plugin:]name[:argument]` starts with, and give the argument.

        Raises:
            ConfigError: If there is none; a DataError for sources.
        """
        plugin, rest = split_prefix(text)
        for owner, wanted in ((plugin, rest), ("", text)) if plugin else (("", text),):
            name, _, argument = wanted.partition(":")
            if record := self.get(name, owner):
                return record, argument
        name = text.partition(":")[0]
        raise self.kind.unknown(
            f"Unknown {self.kind.noun} ({text}).{did_you_mean(name, self.names())} "
            f"There are {listed(self.names()) or 'none'}."
        )
