"""Names: validation, comparison, sorting, filtering and suggestions.

[plugin:]family-size[.tag]       vit-small   vision:vit-small   vit-small.augreg   Vit_Small
"""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from zoo.errors import PluginError

_LEGAL = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, in the plural unless the number is 1: `1 step`, `2,000 steps`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def normalise(name: str) -> str:
    """Give the spelling under which a name is looked up: lower case, `-` for `_`."""
    return name.strip().lower().replace("_", "-")


def normalise_distribution(name: str) -> str:
    """Give a distribution's name as package indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def check_legal(name: str, noun: str) -> None:
    r"""Refuse a name that is not kebab-case.

    Raises:
        PluginError: If the name holds anything but lower-case letters, digits and single hyphens between them.
    """
    if not isinstance(name, str) or not _LEGAL.fullmatch(name):
        raise PluginError(
            f"{noun} name {name!r} is not legal: write kebab-case, lower-case letters and digits with '-' between, "
            "none of . / \\ : @"
        )


def split_prefix(name: str) -> tuple[str, str]:
    r"""Split `prefix:rest`; a prefix has at least two characters, so that `C:\` is none."""
    prefix, colon, rest = name.partition(":")
    if colon and len(prefix) >= 2 and not set(prefix) & set("./\\@"):
        return prefix, rest
    return "", name


def natural(name: str) -> list[tuple[int, int, str]]:
    """Give the key that sorts `resnet-18` before `resnet-101`."""
    parts = re.findall(r"\d+|\D+", normalise(name))
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def matches(name: str, wildcards: str | Sequence[str]) -> bool:
    """Say whether a name fits one of the wildcards, under both spellings of `-`."""
    wanted = [wildcards] if isinstance(wildcards, str) else wildcards
    return any(fnmatchcase(normalise(name), normalise(wildcard)) for wildcard in wanted if wildcard)


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Find at most three known names that look like the one given, the most similar first."""
    spelt = {normalise(other): other for other in known}
    return [spelt[near] for near in get_close_matches(normalise(name), spelt, n=3, cutoff=0.6)]


def listed(names: Iterable[str], last: str = "and") -> str:
    """Write names in quotes: `'a', 'b' and 'c'`."""
    quoted = [f"'{name}'" for name in names]
    return f" {last} ".join(part for part in (", ".join(quoted[:-1]), quoted[-1] if quoted else "") if part)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Write ` Did you mean 'a' or 'b'?`, or nothing where no known name is near."""
    near = nearest(name, known)
    return f" Did you mean {listed(near, 'or')}?" if near else ""
