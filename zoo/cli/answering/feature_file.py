"""`FeatureFile`: feature vectors written row by row, in constant memory, to an .npz file.

It holds the array `features`, and `inputs.json`, a list of names; in an array each would take the longest one's room.
"""

import json
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np

from zoo.atomic_write import atomic_path
from zoo.errors import InputError


class FeatureFile:
    """Rows that wait in files until their number is known, which stands before them in an .npz file.

    Args:
        rows: where the vectors go, one behind the other.
        names: where the inputs go, as JSON.
    """

    def __init__(self, rows: IO[bytes], names: IO[bytes]) -> None:
        self.rows, self.names = rows, names
        self.count, self.channels = 0, 0

    def add(self, name: str, row: Any) -> None:
        """Take the vector of an input."""
        found = np.ascontiguousarray(row, np.float32)
        self.rows.write(found.tobytes())
        self.names.write((b",\n" if self.count else b"") + json.dumps(name).encode())
        self.count, self.channels = self.count + 1, len(found)

    def write(self, path: Path) -> None:
        """Write the .npz file, whole or not at all."""
        with atomic_path(path) as scratch, zipfile.ZipFile(scratch, "w", zipfile.ZIP_STORED) as archive:
            with archive.open("features.npy", "w", force_zip64=True) as member:
                _head(member, "<f4", (self.count, self.channels))
                self.rows.seek(0)
                shutil.copyfileobj(self.rows, member)
            with archive.open("inputs.json", "w", force_zip64=True) as member:
                member.write(b"[")
                self.names.seek(0)
                shutil.copyfileobj(self.names, member)
                member.write(b"]\n")


def _head(member: IO[bytes], kind: str, shape: tuple[int, ...]) -> None:
    np.lib.format.write_array_header_1_0(member, {"descr": kind, "fortran_order": False, "shape": shape})


@contextmanager
def feature_file(path: Path) -> Iterator[FeatureFile]:
    """Collect rows, and write the file where the block ends without an error.

    Raises:
        InputError: If there is no row.
    """
    with TemporaryFile() as rows, TemporaryFile() as names:
        found = FeatureFile(rows, names)
        yield found
        if not found.count:
            raise InputError(f"no input can be read: {str(path)!r} is not written")
        found.write(path)
