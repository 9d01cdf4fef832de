"""What is left out of many examples, counted and named."""

from collections.abc import Sequence
from typing import NamedTuple

_SHOWN = 5


class Skipped(NamedTuple):
    """Say what is left out, and why."""

    name: str
    why: str
    place: int | None = None
    """In the list that was given, where there was one."""


def told(skipped: Sequence[Skipped], total: int, what: str) -> str:
    """Count and name what is left out."""
    named = "; ".join(f"{each.name}: {each.why}" for each in skipped[:_SHOWN])
    more = f"; and {len(skipped) - _SHOWN} more" if len(skipped) > _SHOWN else ""
    return f"{len(skipped)} of {total} {what} are skipped: {named}{more}"
