"""Report of examples that were skipped: how many, which, and why."""

from collections.abc import Sequence
from typing import NamedTuple

_SHOWN = 100


class Skipped(NamedTuple):
    """An example that was skipped, and why."""

    name: str
    why: str
    place: int | None = None
    """In the list that was given, where there was one."""


def list_skipped(skipped: Sequence[Skipped], total: int, what: str) -> str:
    """Count the skipped examples and list them, a line each, the first hundred."""
    lines = [f"  {each.name}: {each.why.removeprefix(f'{each.name!r}: ')}" for each in skipped[:_SHOWN]]
    more = [f"  and {len(skipped) - _SHOWN} more"] if len(skipped) > _SHOWN else []
    return "\n".join([f"{len(skipped)} of {total} {what} are skipped:", *lines, *more])
