"""`RecordingIndex`: recordings that are listed, and the lengths that their headers tell, memory-mapped from the cache.

A header is read once: an index that is written anew takes over the lengths of files of the same path, size and time of
change.

Axes: n recordings, k some of them.
"""

import hashlib
import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64, UInt64

from zoo import DataError
from zoo.data import PARTS, by_hash, cache_folder, cached_file, for_training, hash_names, mix
from zoo.plugins.speech.data.audio_store import map_in_threads, measure_audio
from zoo.plugins.speech.data.manifest import Recording

_VERSION = 1
_ROWS = 10_000
"""Recordings that are listed at a time."""
_TEXTS = ("label", "text", "part", "speaker")


class RecordingIndex:
    """Paths, lengths, sizes, times of change, labels, transcripts, parts and speakers of recordings, as an Arrow file.

    Args:
        root: folder that the paths are relative to.
        file: of the index.
    """

    def __init__(self, root: Path, file: Path) -> None:
        import pyarrow as pa

        self.root, self.file = root, file
        with pa.memory_map(str(file)) as opened:
            self.table = pa.ipc.open_file(opened).read_all()

    @classmethod
    def of(cls, recordings: Sequence[Recording]) -> "RecordingIndex":
        """List recordings; those whose headers were not read before are measured.

        Raises:
            DataError: If the index cannot be written.
        """
        root = Path(os.path.commonpath([os.path.abspath(each.path.parent) for each in recordings]))
        listed = _listed(recordings, root)
        digest = hashlib.blake2b(str(_VERSION).encode(), digest_size=8)
        for batch in listed.to_batches():
            digest.update(batch.serialize())
        place = f"{int(hash_names([os.fsencode(root)])[0]):016x}"
        name = f"sounds/{place}-{digest.hexdigest()}.arrow"
        return cls(root, cached_file(name, lambda path: _write(path, listed, root, f"sounds/{place}-*.arrow")))

    def __reduce__(self) -> tuple[Any, ...]:
        """Give another process the path of the file."""
        return RecordingIndex, (self.root, self.file)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def fingerprint(self) -> str:
        """Give a text that changes with what is listed, and with the size or time of change of a file."""
        return self.file.stem.partition("-")[2]

    @cached_property
    def lengths(self) -> Int64[np.ndarray, " n"]:
        """See `AudioFiles.lengths`."""
        return self._numbers("length")

    def opened(self, row: int) -> Path:
        """Give the path of a recording."""
        return self.root / os.fsdecode(self.table.column("path")[row].as_py())

    def name(self, row: int) -> str:
        """Give the path of a recording."""
        return str(self.opened(row))

    def cell(self, column: str, row: int) -> str | None:
        """Give the label, transcript, part or speaker of a recording, or why it cannot be read."""
        return self.table.column(column)[row].as_py()

    def cells(self, column: str, rows: Int64[np.ndarray, " k"]) -> Any:
        """Give these of some recordings, as an Arrow array."""
        return self.table.column(column).take(rows).combine_chunks()

    def parts(self, name: str, rows: Int64[np.ndarray, " k"], seed: int) -> dict[str, Int64[np.ndarray, " part"]]:
        """Part some recordings as they say, else by a hash of the speaker, else of file and folder.

        So one speaker's stay together, and each stays in its part when others come or go.

        Raises:
            DataError: If there are too few of them.
        """
        given = np.asarray(self.cells("part", rows).to_numpy(zero_copy_only=False))
        parts = {part: rows[given == part] for part in PARTS}
        parts["train"] = np.sort(np.concatenate([parts["train"], rows[given == ""]]))
        if not len(parts["train"]):
            raise DataError(f"{name}: no recording that can be read is for training")
        wanted = [part for part in ("validation", "test") if not len(parts[part])]
        return parts | (self._drawn(name, parts["train"], wanted, seed) if wanted else {})

    def _drawn(
        self, name: str, pool: Int64[np.ndarray, " k"], wanted: Sequence[str], seed: int
    ) -> dict[str, Int64[np.ndarray, " part"]]:
        import pyarrow.compute as pc

        keys = self._keys[pool]
        if (different := len(np.unique(keys))) <= len(wanted) and for_training():
            raise DataError(
                f"{name} has {len(pool):,} examples, of which {different} differ; training and "
                f"{' and '.join(wanted)} need one each"
            )
        labels = pc.dictionary_encode(self.cells("label", pool), null_encoding="encode")
        drawn = by_hash(keys, seed, np.asarray(labels.indices, np.int64), wanted)
        return {part: pool[places] for part, places in drawn.items()}

    @cached_property
    def _keys(self) -> UInt64[np.ndarray, " n"]:
        return self._numbers("speaker_key")

    def _numbers(self, column: str) -> Any:
        """Give a column of numbers as it lies in the mapped file."""
        return self.table.column(column).chunk(0).to_numpy()


def _listed(recordings: Iterable[Recording], root: Path) -> Any:
    """Give what is listed, and size and time of change of each file; -1 for one that is not there."""
    import pyarrow as pa

    rest, batches = iter(recordings), []
    while some := list(islice(rest, _ROWS)):
        sizes, times = np.array(list(map_in_threads(_stat, (each.path for each in some))), np.int64).T
        paths = [os.fsencode(os.path.relpath(os.path.abspath(each.path), root)) for each in some]
        speakers = [each.speaker or "/".join(each.path.parts[-2:]) for each in some]
        columns = {
            "path": pa.array(paths, pa.large_binary()),
            "size": pa.array(sizes),
            "time": pa.array(times),
            **{name: pa.array([getattr(each, name) for each in some], pa.large_string()) for name in _TEXTS},
            "file_key": mix(mix(hash_names(paths) + sizes.astype(np.uint64), 0) + times.astype(np.uint64), 0),
            "speaker_key": hash_names(map(os.fsencode, speakers)),
        }
        batches.append(pa.RecordBatch.from_pydict(columns))
    return pa.Table.from_batches(batches)


def _stat(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return -1, -1
    return found.st_size, found.st_mtime_ns


def _write(path: Path, listed: Any, root: Path, earlier: str) -> None:
    """Write what is listed with the length of each file, and why it cannot be read."""
    import pyarrow as pa

    keys = listed.column("file_key").to_numpy()
    lengths, why = np.zeros(len(keys), np.int64), np.full(len(keys), None, object)
    known = np.zeros(len(keys), bool)
    if (other := _last_written(root, earlier)) is not None:
        old = other.table.column("file_key").to_numpy()
        order = np.argsort(old)
        place = order[np.searchsorted(old, keys, sorter=order).clip(max=len(old) - 1)]
        known = (old[place] == keys) & (other.lengths[place] > 0)
        lengths[known] = other.lengths[place[known]]
    rest, paths = np.flatnonzero(~known), listed.column("path")
    lengths[rest], why[rest] = measure_audio(lambda row: root / os.fsdecode(paths[row].as_py()), rest)
    whole = listed.append_column("length", pa.array(lengths)).append_column("why", pa.array(why, pa.large_string()))
    with pa.ipc.new_file(str(path), whole.schema) as file:
        file.write_table(whole.combine_chunks())


def _last_written(root: Path, pattern: str) -> RecordingIndex | None:
    """Give the last index that was written of the same folder, if there is one."""
    path = max(cache_folder().glob(pattern), key=lambda path: path.stat().st_mtime_ns, default=None)
    return None if path is None else RecordingIndex(root, path)
