"""Audio of a corpus: in one long tensor, or in files, which are read when needed and kept in memory up to a limit.

Axes: t samples, n sounds, k some of them.
"""

import mmap
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from os import cpu_count
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from zoo import InputError
from zoo.data import Skipped, shown
from zoo.plugins.speech.io.preprocess import Preprocess, length_of

KEPT = 2**30
"""Bytes of sounds that are kept in memory once read, 4.6 hours; others are read again when they are needed."""
_BYTES = 4
_AT_ONCE = 64
"""Files that are begun before the sound of the first is taken: sounds stay in memory until then."""

Thing = TypeVar("Thing")
Answer = TypeVar("Answer")


@runtime_checkable
class AudioFiles(Protocol):
    """Files of sound, numbered from 0: those of a list of recordings, or of the rows of a table."""

    @property
    def lengths(self) -> Int64[np.ndarray, " n"]:
        """Give the samples of each at 16 kHz, as the headers tell; 0 for one that has none."""

    def opened(self, row: int) -> Path | BytesIO:
        """Give the path of a file, or its bytes."""

    def name(self, row: int) -> str:
        """Name a file for messages."""


class Joined:
    """Hold sounds one behind the other, as whole numbers of 16 bits.

    Args:
        flat: all samples.
        lengths: of each sound.
    """

    def __init__(self, flat: Tensor, lengths: Tensor) -> None:
        self.flat, self.lengths = flat, lengths
        self.ends = lengths.cumsum(0).tolist()

    def __getitem__(self, place: int) -> Float[Tensor, " t"]:
        """Give a sound."""
        end = self.ends[place]
        return self.flat[end - int(self.lengths[place]) : end].float() / 2**15


class UnreadableError(InputError):
    """Report a sound that cannot be read.

    Args:
        place: among the sounds.
        why: it cannot.
    """

    def __init__(self, place: int, why: str) -> None:
        super().__init__(why)
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        """Send it from a worker."""
        return UnreadableError, (self.place, str(self))


class SharedSounds:
    """Samples of files, which stay in memory once read, up to a limit; processes that are forked share them.

    A process that is started otherwise reads the files itself.

    Args:
        files: that are read.
        most: bytes that are kept; memory is taken when it is filled.
    """

    def __init__(self, files: AudioFiles, most: int = KEPT) -> None:
        self.files = files
        self._share(_rooms(files.lengths, most // _BYTES))

    def _share(self, rooms: Int64[np.ndarray, " n"]) -> None:
        self._rooms, self._ends = rooms, rooms.cumsum()
        """Samples of each file for which there is room, 0 where there is none, and where this ends."""
        self._samples = np.frombuffer(mmap.mmap(-1, max(_BYTES, _BYTES * int(rooms.sum()))), np.float32)
        self._state = np.frombuffer(mmap.mmap(-1, 8 * len(rooms)), np.int64)
        """0 for a file that was not read, -1 for one that cannot be, else its samples."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out what is shared."""
        return SharedSounds, (self.files, 0)

    def read(self, row: int) -> Float[Tensor, " t"]:
        """Give the samples of a file.

        Raises:
            InputError: If it cannot be read.
        """
        end = int(self._ends[row])
        begin = end - int(self._rooms[row])
        if 0 < self._state[row] <= end - begin:
            return torch.from_numpy(self._samples[begin : begin + int(self._state[row])])
        try:
            sound = Preprocess().samples(self.files.opened(row))
        except (InputError, OSError) as error:
            self._state[row] = -1
            raise InputError(str(error)) from error
        if len(sound) <= end - begin:
            self._samples[begin : begin + len(sound)] = sound.numpy()
        self._state[row] = len(sound)
        return sound

    def held(self, rows: Int64[np.ndarray, " k"]) -> Bool[np.ndarray, " k"]:
        """Tell whether the samples of files are in memory."""
        return (self._state[rows] > 0) & (self._state[rows] <= self._rooms[rows])

    def broken(self, rows: Int64[np.ndarray, " k"]) -> Bool[np.ndarray, " k"]:
        """Tell whether a process has found that files cannot be read."""
        return np.asarray(self._state[rows] < 0)


def _rooms(lengths: Int64[np.ndarray, " n"], most: int) -> Int64[np.ndarray, " n"]:
    """Give the samples of each file for which there is room, in their order; who is too long leaves it to others."""
    if lengths.sum() <= most:
        return lengths.copy()
    rooms = np.zeros_like(lengths)
    for row, length in enumerate(lengths.tolist()):
        if length <= most:
            rooms[row] = length
            most -= length
    return rooms


class Files:
    """Some sounds that are read from files.

    Args:
        memory: reads them, and keeps what was read.
        rows: of the sounds among its files.
    """

    def __init__(self, memory: SharedSounds, rows: Int64[np.ndarray, " k"]) -> None:
        self.memory, self.rows = memory, rows
        self.lengths = torch.from_numpy(memory.files.lengths[rows])

    @property
    def reads_files(self) -> bool:
        """Whether some sounds are not in memory."""
        return not self.memory.held(self.rows).all()

    def __getitem__(self, place: int) -> Float[Tensor, " t"]:
        """Give a sound.

        Raises:
            UnreadableError: If it cannot be read.
        """
        try:
            return self.memory.read(int(self.rows[place]))
        except InputError as error:
            raise UnreadableError(place, str(error)) from error

    def is_broken(self, place: int) -> bool:
        """Tell whether a process has found that a sound cannot be read."""
        return bool(self.memory.broken(self.rows[place : place + 1])[0])

    def skipped(self) -> list[Skipped]:
        """Name the sounds that were found to be unreadable, and why they are."""
        files = self.memory.files
        broken = self.rows[self.memory.broken(self.rows)].tolist()
        return [Skipped(files.name(row), _fault(files.opened, row)) for row in broken]


def measure_audio(
    opened: Callable[[int], Path | BytesIO], rows: Int64[np.ndarray, " k"]
) -> tuple[Int64[np.ndarray, " k"], list[str | None]]:
    """Read the header of each file: give its samples at 16 kHz, 0 where it cannot be read, and why it cannot."""

    def measured(row: int) -> int | str:
        try:
            return length_of(opened(row))
        except (InputError, OSError) as error:
            return str(error)

    found = list(shown(map_in_threads(measured, rows.tolist()), len(rows), "listing sounds"))
    lengths = np.array([each if isinstance(each, int) else 0 for each in found], np.int64)
    return lengths, [each if isinstance(each, str) else None for each in found]


def map_in_threads(change: Callable[[Thing], Answer], things: Iterable[Thing]) -> Iterable[Answer]:
    """Map a function over items with a thread pool, in their order."""
    pool = ThreadPoolExecutor(cpu_count())
    try:
        waiting = list(things)
        for first in range(0, len(waiting), _AT_ONCE):
            yield from pool.map(change, waiting[first : first + _AT_ONCE])
    finally:
        pool.shutdown(cancel_futures=True)


def _fault(opened: Callable[[int], Path | BytesIO], row: int) -> str:
    try:
        Preprocess().samples(opened(row))
    except (InputError, OSError) as error:
        return str(error)
    return "it could not be read at first"
