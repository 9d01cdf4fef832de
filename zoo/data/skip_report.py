"""What is left out of many examples, counted and named."""

from collections.abc import Sequence
from typing import NamedTuple

_SHOWN = 100


class Skipped(NamedTuple):
    """Say what is left out, and why."""

    name: str
    why: str
    place: int | None = None
    """In the list that was given, where there was one."""


def told(skipped: Sequence[Skipped], total: int, what: str) -> str:
    """Count what is left out, and name each in a line."""
    lines = [f"  {each.name}: {each.why.removeprefix(f'{each.name!r}: ')}" for each in skipped[:_SHOWN]]
    more = [f"  and {len(skipped) - _SHOWN} more"] if len(skipped) > _SHOWN else []
    return "\n".join([f"{len(skipped)} of {total} {what} are skipped:", *lines, *more])
