"""`PixelCache`: decoded pictures of one size in a file, which all processes of a machine share.

Pictures are read by `preadv`, not mapped: a batch needs a copy anyway, and the memory of a worker does not grow with
what it has read.

Whoever decodes a picture writes it, so that the file is filled by the first pass, and by as many processes as read.
Each row has a checksum, written after its pixels: where writing was interrupted, or the pixels did not reach the disk,
the picture is decoded again.
"""

import hashlib
import os
import shutil
import warnings
import weakref
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from zoo.data import available_memory, cache_folder
from zoo.plugins.vision.data.folders.folder_index import FolderIndex

_VERSION = 1
_ROW = np.dtype([("key", "<u8"), ("checksum", "<u4")])
_SHARE_OF_MEMORY = 0.25


class PixelCache:
    """Rows of pixels, uint8 (count, height, width, channels), and the row of each picture.

    A picture that is new or has changed gets a row at the end. Rows that no picture has any more stay, until they are
    more than those in use: then the file is begun anew.

    Args:
        index: of the pictures.
        size: pixels along a side.

    Raises:
        OSError: If the files cannot be written, or the disk has not twice the room that is needed.
    """

    def __init__(self, index: FolderIndex, size: int) -> None:
        self.index, self.size, self.file = index, size, cache_file(index.root, size)
        self.bytes_each = size * size * 3
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{self.file}.lock"):
            self.row_of = self._rows_for(index.keys())
            self._rows = np.memmap(self._table, _ROW, "r+")
            self._descriptor = os.open(self.file, os.O_RDWR)
        weakref.finalize(self, os.close, self._descriptor)
        self._writes = True

    def __reduce__(self) -> tuple[Any, ...]:
        """Let another process open the same file."""
        return PixelCache, (self.index, self.size)

    def get(self, place: int) -> NDArray[np.uint8] | None:
        """Give the pixels of a picture (height, width, channels); None where they are not there."""
        row = self.row_of[place]
        checksum = self._rows["checksum"][row]
        if not checksum:
            return None
        pixels = np.empty((self.size, self.size, 3), np.uint8)
        read = os.preadv(self._descriptor, [pixels.data], int(row) * self.bytes_each)
        return pixels if read == self.bytes_each and _checksum(pixels) == checksum else None

    def put(self, place: int, pixels: NDArray[np.uint8]) -> None:
        """Write the pixels of a picture; where that fails, as on a full disk, warn and write no more."""
        if not self._writes:
            return
        row, content = int(self.row_of[place]), np.ascontiguousarray(pixels).data.cast("B")
        try:
            if os.pwrite(self._descriptor, content, row * self.bytes_each) != self.bytes_each:
                raise OSError("no space left on the disk")
            self._rows["checksum"][row] = _checksum(content)
        except OSError as error:
            self._writes = False
            warnings.warn(dropped(self.file, error), stacklevel=2)

    @property
    def writes(self) -> bool:
        """Whether pixels are written: until that fails."""
        return self._writes

    def missing(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which of some pictures have no pixels yet."""
        return self._rows["checksum"][self.row_of[places]] == 0

    @property
    def _table(self) -> Path:
        """Name the file of keys and checksums."""
        return self.file.with_suffix(".rows")

    def _rows_for(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Find the row of each key; append those that are not there."""
        table = np.fromfile(self._table, _ROW) if self._table.exists() and self.file.exists() else np.empty(0, _ROW)
        if len(table) > 2 * len(keys) or (len(table) and self.file.stat().st_size < len(table) * self.bytes_each):
            table = table[:0]
        if not len(table):
            self._tell_of_other_versions()
            self._begin()
        order = np.argsort(table["key"], kind="stable")
        at = np.searchsorted(table["key"], keys, sorter=order)
        rows = order[np.minimum(at, len(order) - 1)] if len(order) else np.zeros(len(keys), np.int64)
        new = np.flatnonzero(table["key"][rows] != keys) if len(table) else np.arange(len(keys))
        rows[new] = np.arange(len(table), len(table) + len(new))
        self._append(keys[new], len(table) + len(new))
        return rows

    def _tell_of_other_versions(self) -> None:
        """Warn of files that other versions wrote for the same pictures, once, when that of this version is made."""
        others = [] if self.file.exists() else sorted(self.file.parent.glob(f"{self.file.name.partition('+')[0]}+*.u8"))
        if others:
            room = sum(each.stat().st_blocks * 512 for each in others)
            warnings.warn(
                f"the pictures of {str(self.index.root)!r} are decoded again: another version of zoo or Pillow wrote "
                f"{', '.join(repr(str(each)) for each in others)}; remove that to free {room / 1e6:,.0f} MB",
                stacklevel=2,
            )

    def _begin(self) -> None:
        """Make empty files; processes that have opened those before keep them."""
        for file in (self._table, self.file):
            file.unlink(missing_ok=True)
            file.touch()

    def _append(self, keys: NDArray[np.uint64], total: int) -> None:
        """Make room for rows at the end; the file of pixels has holes until they are written."""
        needed, free = len(keys) * self.bytes_each, shutil.disk_usage(self.file.parent).free
        if 2 * needed > free:
            raise OSError(f"it would take {-(-needed // 10**6):,} MB, and the disk has {free // 10**6:,} MB left")
        os.truncate(self.file, total * self.bytes_each)
        rows = np.zeros(len(keys), _ROW)
        rows["key"] = keys
        os.truncate(self._table, (total - len(keys)) * _ROW.itemsize)  # without a row that was written half
        with self._table.open("ab") as table:
            table.write(rows.tobytes())


def open_cache(index: FolderIndex, size: int, wanted: bool | None) -> PixelCache | None:
    """Open the cache of a folder's pictures at a size.

    Args:
        index: of the pictures.
        size: pixels along a side.
        wanted: whether there shall be one. None for where one was made before, or all pictures fit in a quarter of the
            memory that is free.

    Returns: None where it is not wanted, and, with a warning, where it cannot be written.
    """
    if wanted is False or (wanted is None and not (cache_file(index.root, size).exists() or _fits(index, size))):
        return None
    try:
        return PixelCache(index, size)
    except OSError as error:
        warnings.warn(dropped(cache_file(index.root, size), error), stacklevel=2)
        return None


def cache_file(root: Path, size: int) -> Path:
    """Name the file of a folder's pixels at a size, as this version of Pillow decodes them."""
    from PIL import __version__

    text = repr((os.path.realpath(root), size)).encode()
    name = f"pixels-{hashlib.blake2b(text, digest_size=8).hexdigest()}+{_VERSION}-pillow-{__version__}.u8"
    return cache_folder() / "images" / name


def dropped(file: Path, error: OSError) -> str:
    """Say that pixels are not cached, and what to do."""
    return (
        f"decoded pictures are not cached in {str(file)!r}, and are decoded each time they are read: {error}. Set "
        "ZOO_CACHE to a folder that has room, or give --no-cache"
    )


def _checksum(pixels: Any) -> int:
    return zlib.crc32(pixels) or 1


def _fits(index: FolderIndex, size: int) -> bool:
    free = available_memory()
    return free is not None and len(index) * size * size * 3 <= free * _SHARE_OF_MEMORY
