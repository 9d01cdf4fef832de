"""`RaggedIds`: rows of token ids of different lengths in one flat array, in memory or memory-mapped."""

import os
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

_OFFSETS = "offsets.int64"


class RaggedIds:
    """Rows of token ids of different lengths, concatenated.

    Args:
        rows: of ids; they are held as 32-bit integers.
    """

    def __init__(self, rows: Sequence[Sequence[int]] = ()) -> None:
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        self._hold(np.fromiter(chain.from_iterable(rows), np.int32, int(lengths.sum())), offsets_of(lengths))

    @classmethod
    def of(cls, flat: np.ndarray, offsets: np.ndarray) -> "RaggedIds":
        """Make rows of one flat array; row i begins at offset i and ends at offset i + 1."""
        made = cls.__new__(cls)
        made._hold(flat, offsets)
        return made

    @classmethod
    def mapped(cls, folder: Path) -> "RaggedIds":
        """Open rows that a `RaggedWriter` wrote; processes that open them share the memory."""
        (flat,) = (path for path in folder.iterdir() if path.name.startswith("ids."))
        made = cls.of(_map(flat), _map(folder / _OFFSETS))
        made._folder = folder
        return made

    def _hold(self, flat: np.ndarray, offsets: np.ndarray) -> None:
        self.flat, self.offsets = flat, offsets
        self._folder: Path | None = None

    @property
    def lengths(self) -> Int[Tensor, " rows"]:
        """Length of each row; made anew each time, as 32-bit integers, in which the difference of offsets is exact."""
        return torch.from_numpy(np.subtract(self.offsets[1:], self.offsets[:-1], dtype=np.int32, casting="unsafe"))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, place: int) -> list[int]:
        """Give a row."""
        place = range(len(self))[place]
        return self.flat[self.offsets[place] : self.offsets[place + 1]].tolist()

    def __reduce__(self) -> tuple[Any, ...]:
        """Send a path, not the content, to a process that is started."""
        if self._folder is not None:
            return RaggedIds.mapped, (self._folder,)
        return RaggedIds.of, (self.flat, self.offsets)


class RaggedWriter:
    """Append rows to files; what follows on earlier rows overwrites what a stopped process wrote behind them.

    Args:
        folder: of the files; it is made.
        dtype: of the ids.
        rows: number of earlier rows that are kept.
        ids: number of their ids.
    """

    def __init__(self, folder: Path, dtype: np.dtype[Any], rows: int = 0, ids: int = 0) -> None:
        folder.mkdir(exist_ok=True)
        self.dtype, self.rows, self.ids = dtype, rows, ids
        self._flat = _opened_at(folder / f"ids.{dtype.name}", ids * dtype.itemsize)
        self._offsets = _opened_at(folder / _OFFSETS, (rows + 1) * 8 if rows else 0)
        if not rows:
            self._offsets.write(np.zeros(1, np.int64).tobytes())

    def __enter__(self) -> "RaggedWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._flat.close()
        self._offsets.close()

    def add(self, rows: RaggedIds) -> None:
        """Append rows."""
        assert rows.flat.dtype == self.dtype, (rows.flat.dtype, self.dtype)
        self._flat.write(np.ascontiguousarray(rows.flat).data)
        self._offsets.write((rows.offsets[1:] - rows.offsets[0] + self.ids).astype(np.int64).data)
        self.rows, self.ids = self.rows + len(rows), self.ids + len(rows.flat)

    def flush(self) -> None:
        """Force what was added to the disk."""
        for file in (self._flat, self._offsets):
            file.flush()
            os.fsync(file.fileno())


def offsets_of(lengths: Int[np.ndarray, " rows"]) -> Int[np.ndarray, " offsets"]:
    """Give where rows of these lengths begin, and where the last ends."""
    return np.concatenate([np.zeros(1, np.int64), lengths.cumsum()])


def _opened_at(path: Path, size: int) -> BinaryIO:
    path.touch()
    file = path.open("r+b")
    file.truncate(size)
    file.seek(size)
    return file


def _map(path: Path) -> np.ndarray:
    """Map a file whose ending is its type; one of no bytes cannot be mapped."""
    dtype = np.dtype(path.suffix[1:])
    return np.memmap(path, dtype, "r") if path.stat().st_size else np.zeros(0, dtype)
