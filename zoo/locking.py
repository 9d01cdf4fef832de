"""`locked`: the lock of a run folder, so that two processes do not do the same work in it. Imports no torch."""

import errno
import json
import os
import socket
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from zoo.errors import DataError, FolderInUseError

LOCK, HOLDER, MARKER = ".lock", ".lock.json", ".lock.marker"
"""Files of a locked folder: the lock, who holds it, and what is the lock where the file system has no others. All are
removed when it is released."""
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)
"""Errors of file systems without locks, such as network folders without a lock service."""


class Holder(NamedTuple):
    """Process that holds a lock."""

    pid: int
    host: str
    since: str
    """When it took the lock: ISO 8601, with the offset from UTC."""

    def __str__(self) -> str:
        return f"process {self.pid} on host {self.host!r}, since {self.since}"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a run folder, which is made where it does not exist.

    The operating system ends the lock with the process, so that a killed one leaves none. Where the file system has no
    locks, the existence of the file is the lock, and a dead process of this host loses it.

    Args:
        folder: value of `--out`. If it and its parents are empty at the end and were made here, they are removed.

    Raises:
        FolderInUseError: If another process holds it; the text says which, since when, and what to do.
        DataError: If the folder cannot be written.
    """
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _acquire(folder, held)
            held.callback(_remove_empty, made)
            held.callback(_remove, folder / LOCK)  # before the release: whoever waits finds that the file is gone
            _tell_of_host(folder)
            held.callback(_remove, folder / HOLDER)
            _write(folder / HOLDER, Holder(os.getpid(), socket.gethostname(), _now()))
        except OSError as error:
            raise DataError(f"out={str(folder)!r} cannot be written: {error}; give another out") from error
        yield


def read_holder(folder: Path) -> Holder | None:
    """Read who holds the lock of a folder, or held it when it was killed; None where nothing is written."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        found: dict[str, Any] = json.loads((folder / HOLDER).read_text(encoding="utf-8"))
        return Holder(int(found["pid"]), str(found["host"]), str(found["since"]))
    return None


def _acquire(folder: Path, held: ExitStack) -> None:
    """Take the lock until the stack is closed, by the operating system, or by a marker where that has no locks."""
    from filelock import FileLock, SoftFileLock, Timeout

    try:
        try:
            held.enter_context(FileLock(folder / LOCK, timeout=0))
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            held.enter_context(SoftFileLock(folder / MARKER, timeout=0))
    except Timeout as error:
        raise FolderInUseError(_in_use(folder)) from error


def _in_use(folder: Path) -> str:
    holder = read_holder(folder)
    first = f"out={str(folder)!r} is in use by {holder or 'another process'}"
    if holder is None:
        return f"{first}: wait until it ends, or give another out"
    if holder.host == socket.gethostname():
        return f"{first}: wait until it ends, stop it (kill {holder.pid}), or give another out"
    return (
        f"{first}: wait until it ends, stop it there, or give another out; if it has ended and this is shown again, "
        f"remove the files {folder / LOCK!s}*"
    )


def _tell_of_host(folder: Path) -> None:
    """Warn where a lock is taken over from a process of another host, which cannot be looked for from here."""
    before = read_holder(folder)
    if before is not None and before.host != socket.gethostname():
        warnings.warn(
            f"out={str(folder)!r} was in use by {before}, which did not end in order; its lock is gone and is taken "
            "over. If that process still runs, the file system does not share locks between hosts: stop one of the two",
            stacklevel=4,
        )


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


def _write(path: Path, holder: Holder) -> None:
    scratch = path.with_name(f"{LOCK}.{os.getpid()}")
    scratch.write_text(json.dumps(holder._asdict()) + "\n", encoding="utf-8")
    scratch.replace(path)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _remove_empty(folders: Sequence[Path]) -> None:
    with suppress(OSError):  # one holds something
        for folder in folders:
            folder.rmdir()
