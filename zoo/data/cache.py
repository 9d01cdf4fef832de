"""Cache of files that are made once, written atomically; `ZOO_CACHE` sets the folder."""

import os
from collections.abc import Callable
from pathlib import Path

from zoo.atomic_write import atomic_path
from zoo.errors import DataError


def cache_folder() -> Path:
    """Name the folder: `ZOO_CACHE`, else `zoo` in `XDG_CACHE_HOME`, else `~/.cache/zoo`."""
    if own := os.environ.get("ZOO_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "zoo"


def cached_file(name: str, make: Callable[[Path], None]) -> Path:
    """Give a file of the cache; it is made if it is not there.

    It is written under another name first: whoever is stopped leaves nothing half, and of two that make it at the same
    time the last wins.

    Args:
        name: of the file; it says all that decides its content.
        make: writes it to a path.

    Raises:
        DataError: If it cannot be written.
    """
    path = cache_folder() / name
    if path.exists():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as scratch:
            make(scratch)
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be written: {error}; set ZOO_CACHE to a folder that has room") from error
    return path
