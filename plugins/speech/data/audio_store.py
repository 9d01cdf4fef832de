"""Audio of a corpus: in one long tensor, or in files, cached in memory up to a limit.

Axes: t samples.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from zoo import InputError
from zoo.data import shown
from zoo.plugins.speech.io.preprocess import Preprocess

KEPT = 2**30
"""Bytes of sounds that are kept in memory, 4.6 hours; others are read again when they are needed."""
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


class Files:
    """Read sounds from files that were read before.

    Args:
        paths: of the files.
        lengths: samples of each, at 16 kHz.
        cached: sounds that are in memory, by path.
    """

    def __init__(self, paths: Sequence[Path], lengths: Sequence[int], cached: dict[Path, Tensor]) -> None:
        self.paths = list(paths)
        self.lengths = torch.tensor(lengths, dtype=torch.long)
        self.cached = cached

    def __getstate__(self) -> dict[str, Any]:
        """Leave the sounds out: who unpickles the files, such as a worker, reads them."""
        return vars(self) | {"cached": {}}

    @property
    def reads_files(self) -> bool:
        """Whether some sounds are not in memory."""
        return not self.cached.keys() >= {*self.paths}

    def __getitem__(self, place: int) -> Float[Tensor, " t"]:
        """Give a sound."""
        path = self.paths[place]
        return self.cached[path] if path in self.cached else Preprocess().samples(path)


class AudioIndex(NamedTuple):
    """Lengths of the audio files of a corpus, and the samples that memory has room for.

    Args:
        lengths: samples of each that can be read, by path.
        cached: their samples, as far as memory is granted.
        skipped: why the others cannot be read, by path.
    """

    lengths: dict[Path, int]
    cached: dict[Path, Tensor]
    skipped: dict[Path, str]


def index_audio(paths: Sequence[Path], most: int = KEPT) -> AudioIndex:
    """Read every file once, so that none fails in the middle of a training.

    Args:
        paths: of the files.
        most: bytes of sounds that are kept.
    """
    found, room = AudioIndex({}, {}, {}), most
    for path, sound in zip(paths, shown(map_in_threads(_read, paths), len(paths), "reading sounds"), strict=True):
        if isinstance(sound, str):
            found.skipped[path] = sound
            continue
        found.lengths[path] = len(sound)
        size = _BYTES * len(sound)
        if size <= room:
            found.cached[path] = sound
            room -= size
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


def _read(path: Path) -> Tensor | str:
    try:
        return Preprocess().samples(path)
    except InputError as error:
        return str(error)
