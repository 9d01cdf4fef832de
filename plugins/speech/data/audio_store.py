"""Audio of a corpus: in one long tensor, or in files, which are read when needed and kept in memory up to a limit.

Axes: t samples.
"""

import mmap
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Float
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
        lengths: samples of each file, at 16 kHz.
        most: bytes that are kept; memory is taken when it is filled.
    """

    def __init__(self, lengths: Mapping[Path, int], most: int = KEPT) -> None:
        self.rows: dict[Path, tuple[int, int, int]] = {}
        """Row of each file, and where its samples begin and end; nowhere if there is no room."""
        used = 0
        for row, (path, length) in enumerate(lengths.items()):
            room = length if _BYTES * (used + length) <= most else 0
            self.rows[path] = row, used, used + room
            used += room
        self._share(used)

    def _share(self, samples: int) -> None:
        self._samples = np.frombuffer(mmap.mmap(-1, max(_BYTES, _BYTES * samples)), np.float32)
        self._state = np.frombuffer(mmap.mmap(-1, 8 * len(self.rows)), np.int64)
        """0 for a file that was not read, -1 for one that cannot be, else its samples."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is shared."""
        return {"rows": {path: (row, 0, 0) for path, (row, _, _) in self.rows.items()}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.rows = state["rows"]
        self._share(0)

    def read(self, path: Path) -> Float[Tensor, " t"]:
        """Give the samples of a file.

        Raises:
            InputError: If it cannot be read.
        """
        row, begin, end = self.rows[path]
        if 0 < self._state[row] <= end - begin:
            return torch.from_numpy(self._samples[begin : begin + int(self._state[row])])
        try:
            sound = Preprocess().samples(path)
        except InputError:
            self._state[row] = -1
            raise
        if len(sound) <= end - begin:
            self._samples[begin : begin + len(sound)] = sound.numpy()
        self._state[row] = len(sound)
        return sound

    def is_held(self, path: Path) -> bool:
        """Tell whether the samples of a file are in memory."""
        row, begin, end = self.rows[path]
        return bool(0 < self._state[row] <= end - begin)

    def is_broken(self, path: Path) -> bool:
        """Tell whether a process has found that a file cannot be read."""
        return bool(self._state[self.rows[path][0]] < 0)


class Files:
    """Read sounds from files.

    Args:
        paths: of the files.
        lengths: samples of each, at 16 kHz, as the headers tell.
        memory: what was read.
    """

    def __init__(self, paths: Sequence[Path], lengths: Sequence[int], memory: SharedSounds) -> None:
        self.paths = list(paths)
        self.lengths = torch.tensor(lengths, dtype=torch.long)
        self.memory = memory

    @property
    def reads_files(self) -> bool:
        """Whether some sounds are not in memory."""
        return not all(map(self.memory.is_held, self.paths))

    def __getitem__(self, place: int) -> Float[Tensor, " t"]:
        """Give a sound.

        Raises:
            UnreadableError: If it cannot be read.
        """
        try:
            return self.memory.read(self.paths[place])
        except InputError as error:
            raise UnreadableError(place, str(error)) from error

    def is_broken(self, place: int) -> bool:
        """Tell whether a process has found that a sound cannot be read."""
        return self.memory.is_broken(self.paths[place])

    def skipped(self) -> list[Skipped]:
        """Name the sounds that were found to be unreadable, and why they are."""
        return [Skipped(str(path), _fault(path)) for path in self.paths if self.memory.is_broken(path)]


class AudioIndex(NamedTuple):
    """Lengths of audio files, as their headers tell.

    Args:
        lengths: samples at 16 kHz of each that has a header, by path.
        skipped: why the others cannot be read, by path.
    """

    lengths: dict[Path, int]
    skipped: dict[Path, str]


def index_audio(paths: Sequence[Path]) -> AudioIndex:
    """Read the header of every file; samples are read when they are needed."""
    found = AudioIndex({}, {})
    for path, length in zip(paths, shown(map_in_threads(_length, paths), len(paths), "listing sounds"), strict=True):
        if isinstance(length, str):
            found.skipped[path] = length
        else:
            found.lengths[path] = length
    return found


def map_in_threads(change: Callable[[Thing], Answer], things: Iterable[Thing]) -> Iterable[Answer]:
    """Map a function over items with a thread pool, in their order."""
    pool = ThreadPoolExecutor(cpu_count())
    try:
        waiting = list(things)
        for first in range(0, len(waiting), _AT_ONCE):
            yield from pool.map(change, waiting[first : first + _AT_ONCE])
    finally:
        pool.shutdown(cancel_futures=True)


def _length(path: Path) -> int | str:
    try:
        return length_of(path)
    except InputError as error:
        return str(error)


def _fault(path: Path) -> str:
    try:
        Preprocess().samples(path)
    except InputError as error:
        return str(error)
    return "it could not be read at first"
