"""Cache of files and folders that are made once, written atomically; `ZOO_CACHE` sets the folder."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from zoo.atomic_write import atomic_path, sync
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
    with _written(path), atomic_path(path) as scratch:
        make(scratch)
    return path


def cached_folder(name: str, make: Callable[[Path], None]) -> Path:
    """Give a folder of the cache; it is made if it is not there.

    One process makes it while others wait. What it is stopped in stays, under another name, for the next to go on with.

    Args:
        name: of the folder; it says all that decides its content.
        make: writes its files into a folder, in which files of a stopped process may be.

    Raises:
        DataError: If it cannot be written.
    """
    from filelock import FileLock

    path = cache_folder() / name
    if path.exists():
        return path
    scratch = path.with_name(f"{path.name}.partial")
    with _written(path), FileLock(path.with_name(f"{path.name}.lock")):
        if not path.exists():
            scratch.mkdir(exist_ok=True)
            make(scratch)
            scratch.replace(path)
            sync(path.parent)
    return path


@contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be written: {error}; set ZOO_CACHE to a folder that has room") from error
