"""List the pictures of class folders: names, sizes and times of change as arrays, nothing opened.

Names are bytes, as the file system has them, so that those that are no UTF-8 work. Links to files and folders are
followed; one that leads back to a folder above it is left out.
"""

import os
import stat
from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo import DataError
from zoo.data import for_training
from zoo.plugins.vision.read_image import listed

ENDINGS = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"}
PARTS = {"train": (b"train",), "validation": (b"validation", b"valid", b"val", b"dev"), "test": (b"test",)}
"""Names of the folders of each part, where a folder is split already."""
_ENDINGS = {ending.encode() for ending in ENDINGS}
_ENDING, _NO_FILE, _EMPTY, _RIGHTS = "ending of no image", "link, pipe or device", "empty", "no right to read"
"""Why files are left out."""
_THREADS = 16
"""Folders listed at a time: what takes long is the waiting for a disk or a network."""
Identity = tuple[int, int]


class Listed(NamedTuple):
    """Pictures below one folder, ordered by name."""

    names: list[bytes]
    """Relative to the root."""
    sizes: NDArray[np.int64]
    """Bytes."""
    times: NDArray[np.int64]
    """Of the last change, ns."""
    left_out: dict[str, list[bytes]]
    """Other files by the reason why they are no pictures, and links that lead back to a folder above them."""
    closed: list[str]
    """Folders that cannot be read, and why."""


class ClassFolder(NamedTuple):
    """A folder with the pictures of one class."""

    part: str
    """`train`, `validation` or `test`, where the folder is split already; else empty."""
    name: bytes
    """Of the class."""
    path: bytes
    """Relative to the root."""


def list_classes(root: Path) -> tuple[list[ClassFolder], tuple[str, ...]]:
    """Find the class folders of a folder, ordered by part and name, and give notes on what is left out.

    Raises:
        DataError: If there is no such folder, it cannot be read, or has fewer than two classes.
    """
    if not root.is_dir():
        raise DataError(f"folder:{root}: there is no such folder")
    folders = _sub_folders(root, b"")
    parts = _given_parts(root, folders)
    if parts is None:
        return _at_least_two(root, [ClassFolder("", name, name) for name in folders]), ()
    found = [
        ClassFolder(part, name, os.path.join(place, name))
        for part, place in parts.items()
        for name in _sub_folders(root, place)
    ]
    _check_classes(root, found, parts)
    others = [shown_name(name) for name in folders if name not in parts.values()]
    notes = (f"split already; folders that are no part of it are left out: {listed(others)}",) if others else ()
    return _at_least_two(root, found), notes


def _given_parts(root: Path, folders: list[bytes]) -> dict[str, bytes] | None:
    """Find the folder of each part, where there is one for training and another; None where there are none."""
    found = {part: [name for name in folders if name in names] for part, names in PARTS.items()}
    if twice := next((names for names in found.values() if len(names) > 1), None):
        both = " and ".join(repr(shown_name(name)) for name in twice)
        raise DataError(f"folder:{root}: {both} are the same part: rename or remove one")
    parts = {part: names[0] for part, names in found.items() if names}
    return parts if "train" in parts and len(parts) > 1 else None


def _check_classes(root: Path, found: list[ClassFolder], places: dict[str, bytes]) -> None:
    """Check that no part is empty, or has a class that is not trained."""
    known = sorted({each.name for each in found if each.part == "train"})
    if not known:
        raise DataError(
            f"folder:{root} is split into {listed([*map(shown_name, places.values())])}, and 'train' has no sub-folder "
            "for each class: move the pictures into one for each"
        )
    if empty := [part for part in places if part != "train" and not any(each.part == part for each in found)]:
        raise DataError(
            f"folder:{root}: {shown_name(places[empty[0]])!r} has no sub-folder for each class: add some, or remove "
            f"it, and {empty[0]} is drawn from the training"
        )
    if others := [repr(shown_name(each.path)) for each in found if each.name not in known]:
        which = f"{listed(others)} {'is of a class that is' if len(others) == 1 else 'are of classes that are'}"
        raise DataError(f"folder:{root}: {which} not in 'train', which has {listed([*map(shown_name, known)])}")


def list_pictures(root: Path, folders: list[bytes]) -> list[Listed]:
    """List the pictures below each of some folders, several at a time, and what is left out."""
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(lambda folder: _list(root, folder), folders))


def shown_name(name: bytes) -> str:
    r"""Give a name of the file system as text that can be printed; bytes that are no UTF-8 as `\xff`."""
    return name.decode("utf-8", "backslashreplace")


def _at_least_two(root: Path, classes: list[ClassFolder]) -> list[ClassFolder]:
    names = sorted({each.name for each in classes})
    if not names or (len(names) < 2 and for_training()):
        found = f"one class ({shown_name(names[0])})" if names else "no class"
        raise DataError(f"{root} has {found}: put the pictures into a sub-folder for each of at least two classes")
    return classes


def _sub_folders(root: Path, folder: bytes) -> list[bytes]:
    try:
        found = [entry.name for entry in _scan(root, folder) if _is_folder(entry) and not entry.name.startswith(b".")]
    except OSError as error:
        raise DataError(f"folder:{root}: {_closed(folder, error)}") from error
    above = _identity(os.fsencode(root))
    return sorted(name for name in found if _identity(os.path.join(os.fsencode(root), folder, name)) != above)


def _list(root: Path, folder: bytes) -> Listed:
    names, closed = [], []
    states = array("q")  # 16 bytes for each file, where a tuple of two numbers has 120
    left_out: dict[str, list[bytes]] = {}
    base = os.fsencode(root)
    waiting = [(folder, {_identity(base), _identity(os.path.join(base, folder))})]
    while waiting:
        place, above = waiting.pop()
        try:
            for entry in _scan(root, place):
                name = os.path.join(place, entry.name)
                if _is_folder(entry):
                    identity = _identity(entry.path)
                    if identity in above:
                        left_out.setdefault(_NO_FILE, []).append(name)
                    else:
                        waiting.append((name, above | {identity}))
                    continue
                found = _file_state(entry)
                if not isinstance(found, str):
                    names.append(name)
                    states.extend((found.st_size, found.st_mtime_ns))
                elif not entry.name.startswith(b"."):
                    left_out.setdefault(found, []).append(name)
        except OSError as error:
            closed.append(_closed(place, error))
    order = sorted(range(len(names)), key=names.__getitem__)
    numbers = np.frombuffer(states, np.int64).reshape(-1, 2)[order]
    left_out = {why: sorted(left_out[why]) for why in sorted(left_out)}
    return Listed([names[place] for place in order], numbers[:, 0], numbers[:, 1], left_out, sorted(closed))


def _scan(root: Path, folder: bytes) -> Iterator["os.DirEntry[bytes]"]:
    """List a folder one entry at a time: an entry keeps what it is asked for, half a kilobyte."""
    with os.scandir(os.path.join(os.fsencode(root), folder)) as entries:
        yield from entries


def _closed(folder: bytes, error: OSError) -> str:
    """Say that a folder cannot be read."""
    why = f"{shown_name(folder) or '.'!r} cannot be read: {error.strerror}"
    return f"{why}; change its rights, or move it away"


def _is_folder(entry: "os.DirEntry[bytes]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _file_state(entry: "os.DirEntry[bytes]") -> os.stat_result | str:
    """Give size and time of a picture, as far as can be told without opening it; else why it is none."""
    if os.path.splitext(entry.name)[1].lower() not in _ENDINGS:
        return _ENDING
    try:
        found = entry.stat()
    except OSError:
        return _NO_FILE
    if not stat.S_ISREG(found.st_mode):
        return _NO_FILE
    if not found.st_size:
        return _EMPTY
    # asked only where not everybody may read: on a network each question takes time
    return found if found.st_mode & stat.S_IROTH or os.access(entry.path, os.R_OK) else _RIGHTS


def _identity(path: bytes) -> Identity:
    found = os.stat(path)
    return found.st_dev, found.st_ino
