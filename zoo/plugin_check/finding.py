"""`Finding`: a fault of a plugin, and what to do about it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """Name a fault.

    Args:
        level: `error` for what breaks the plugin or other plugins, `warning` for what users will stumble over.
        where: the record, hook or file.
        fault: what is wrong.
        mend: what to do.
    """

    level: Literal["error", "warning"]
    where: str
    fault: str
    mend: str


def error(where: str, fault: str, mend: str) -> Finding:
    """Make a finding that breaks something."""
    return Finding("error", where, fault, mend)


def warning(where: str, fault: str, mend: str) -> Finding:
    """Make a finding that users will stumble over."""
    return Finding("warning", where, fault, mend)
