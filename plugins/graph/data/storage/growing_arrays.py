"""Arrays in files that grow row by row: written in constant memory, continued where writing was interrupted, mapped.

A folder holds a file of raw numbers for each array, and `state.json`, which says how many rows are valid: what was
written behind them, when the process ended, does not count.
"""

import json
import os
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.data import write_text

_STATE = "state.json"
_EMPTY: dict[str, Any] = {"arrays": {}, "about": {}}


class GrowingArrays:
    """Append rows to arrays in files.

    Args:
        folder: of the files; what it holds already stays, up to the last `commit`.

    Raises:
        OSError: If it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        state = deepcopy(_state(folder))
        self.about: dict[str, Any] = state["about"]
        """What was given to the last `commit`."""
        self._arrays: dict[str, list[Any]] = state["arrays"]
        self._files = {}
        self._files = {name: (folder / name).open("r+b", buffering=0) for name in self._arrays}
        for name, (dtype, row, count) in self._arrays.items():
            self._files[name].truncate(count * _bytes(dtype, row))
            self._files[name].seek(0, os.SEEK_END)

    def append(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write rows behind each array; they count from the next `commit` on."""
        for name, array in arrays.items():
            if name not in self._files:
                self._files[name] = (self.folder / name).open("wb", buffering=0)
            if self._arrays.get(name, [0])[-1] == 0:
                self._arrays[name] = [array.dtype.str, list(array.shape[1:]), 0]
            left = memoryview(np.ascontiguousarray(array).tobytes())
            while left:
                left = left[self._files[name].write(left) :]
            self._arrays[name][2] += len(array)

    def commit(self, about: dict[str, Any]) -> None:
        """Force what was written to the disk; from now on it counts.

        Args:
            about: values of JSON that belong to it.
        """
        for file in self._files.values():
            os.fsync(file.fileno())
        state = {"arrays": self._arrays, "about": about}
        write_text(self.folder / _STATE, json.dumps(state, ensure_ascii=False))

    def close(self) -> None:
        """Close the files; what is behind the last `commit` does not count."""
        for file in self._files.values():
            file.close()


def mapped(folder: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Map the arrays of a folder, up to the last `commit`, and give what belongs to them."""
    state = _state(folder)
    arrays = {
        name: np.memmap(folder / name, dtype, "r", shape=(count, *row)) if count * _bytes(dtype, row) else
        np.zeros((count, *row), dtype)
        for name, (dtype, row, count) in state["arrays"].items()
    }  # fmt: skip
    return arrays, state["about"]


def _state(folder: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads((folder / _STATE).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return _EMPTY
    whole = all(
        _size(folder / name) >= count * _bytes(dtype, row) for name, (dtype, row, count) in state["arrays"].items()
    )
    return state if whole else _EMPTY


def _bytes(dtype: str, row: list[int]) -> int:
    return np.dtype(dtype).itemsize * int(np.prod(row, dtype=np.int64))


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else -1
