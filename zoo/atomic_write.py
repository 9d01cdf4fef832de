"""Atomic writes: a file is whole or not there, whenever the process ends and however full the disk is."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCRATCH = ".writing-"
"""Prefix of files that are not complete; a killed process leaves them."""


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Give a path beside a file to write to; at the end of the block it becomes the file, forced to the disk.

    Where the block raises, the file stays as it was, or absent. A pipe or a device, such as `/dev/stdout`, is written
    to directly.

    Args:
        path: of the file; the path in the block has the same suffix.

    Raises:
        OSError: If it cannot be written.
    """
    target = path.resolve()  # the file that a link leads to, so that the link stays
    if target.exists() and not target.is_file():
        yield target
        return
    handle, name = tempfile.mkstemp(prefix=SCRATCH, suffix=target.suffix, dir=target.parent)
    os.close(handle)
    try:
        yield Path(name)
        replace_synced(Path(name), target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync(target.parent)


def write_text(path: Path, text: str) -> None:
    """Write a text file that is whole or not there, and on the disk when this returns."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file that is whole or not there, and on the disk when this returns."""
    with atomic_path(path) as scratch:
        scratch.write_bytes(content)


def replace_synced(scratch: Path, target: Path) -> None:
    """Force a complete file to the disk, with the rights that the umask leaves, and rename it."""
    with scratch.open("rb") as file:
        os.fsync(file.fileno())
    os.chmod(scratch, 0o666 & ~umask())  # temporary files and those of safetensors are for their owner alone
    os.replace(scratch, target)


def sync(folder: Path) -> None:
    """Force a folder's entries to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def umask() -> int:
    """Give the rights that new files of this process do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
