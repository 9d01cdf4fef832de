"""Names of a new plugin: what is made of the author's word, and whether it is free."""

import re
from dataclasses import dataclass
from importlib.util import find_spec
from keyword import iskeyword
from typing import Any

from zoo.errors import ConfigError
from zoo.names import did_you_mean, normalise
from zoo.registry.lookup import registry
from zoo.registry.plugin_host import RESERVED

_WORD = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Names:
    """Names that templates are filled with, all made of one: `gait` gives `zoo-gait`, `zoo_gait`, `GaitModel`."""

    name: str

    @property
    def module(self) -> str:
        """Import name of the package, `zoo_gait`."""
        return f"zoo_{self.file}"

    @property
    def file(self) -> str:
        """The name as an identifier, `gait`."""
        return self.name.replace("-", "_")

    @property
    def distribution(self) -> str:
        """Name on the package index, `zoo-gait`."""
        return f"zoo-{self.name}"

    def values(self) -> dict[str, str]:
        """Give what each placeholder of a template stands for."""
        camel = "".join(part.capitalize() for part in self.name.split("-"))
        return {
            "name": self.name,
            "file": self.file,
            "module": self.module,
            "distribution": self.distribution,
            "Title": self.name.replace("-", " ").capitalize(),
            "Class": f"{camel}Transformer",
            "Stem": f"{camel}Stem",
            "Camel": camel,
        }


def legal(name: str, noun: str) -> Names:
    """Read the author's word; `Zoo_Gait`, `zoo-gait` and `gait` are one name.

    Raises:
        ConfigError: If no identifier can be made of it.
    """
    word = normalise(name).removeprefix("zoo-")
    if not _WORD.fullmatch(word):
        near = re.sub(r"[^a-z0-9]+", "-", word).strip("-0123456789")
        hint = f", such as {near!r}" if _WORD.fullmatch(near) else ""
        raise ConfigError(
            f"{noun} name {name!r}: write a letter first, then letters, digits and single hyphens, as in an identifier"
            f"{hint}"
        )
    if iskeyword(word):
        raise ConfigError(f"{noun} name {name!r} is a word of Python: choose another")
    return Names(word)


def check_free(names: Names) -> None:
    """Check that nothing has the names of a new plugin.

    Raises:
        ConfigError: If a plugin, a module or a record that the new one would have is there; the text says whose it is.
    """
    name = names.name
    if name in RESERVED:
        raise ConfigError(f"plugin name {name!r} is reserved: choose another")
    for info in registry().plugins():
        if info.name == name:
            raise ConfigError(
                f"plugin name {name!r} is taken by the plugin of {_owner(info.distribution)}: choose another"
            )
    known = registry()
    wanted: tuple[tuple[Any, str], ...] = (
        (known.models, f"{name}-tiny"),
        (known.models, f"{name}-small"),
        (known.sources, name),
        (known.sources, f"{name}-sample"),
        (known.studies, f"{name}-size"),
        (known.attentions, name),
        (known.attentions, f"{name}-temperature"),
    )
    for catalogue, record in wanted:
        if any(normalise(each.name) == record for each in catalogue):
            kind = catalogue.kind.noun
            owner = next(each.plugin for each in catalogue if normalise(each.name) == record)
            raise ConfigError(
                f"{name!r}: there is a {kind} '{record}' of plugin '{owner}' already: choose another name"
            )
    modalities = {each.modality for each in registry().models}
    if name in modalities:
        raise ConfigError(f"{name!r} is a modality already; its models are those of `zoo list --modality {name}`")
    if find_spec(names.module) is not None:
        raise ConfigError(
            f"there is a module {names.module!r} already, which `import {names.module}` finds: choose another"
        )


def _owner(distribution: str) -> str:
    return distribution or "a module that was given"


def check_parts(parts: str, known: tuple[str, ...]) -> frozenset[str]:
    """Read `source,study`; an empty text is none.

    Raises:
        ConfigError: If a part is unknown.
    """
    found = frozenset(part.strip() for part in parts.split(",") if part.strip())
    for part in sorted(found - {*known}):
        raise ConfigError(f"--with {part!r} is not one of {', '.join(known)}.{did_you_mean(part, known)}")
    return found
