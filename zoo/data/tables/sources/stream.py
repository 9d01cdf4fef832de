"""`TableStream`: rows of a data set that is streamed, in windows of some thousand rows that are written to the cache.

A window follows from the data and its number alone. One process reads the next window while the others wait, and they
all map it into memory. The place in the stream where a window ends is kept beside it, so that another process, or the
same training after `kill -9`, goes on there.
"""

import atexit
import json
import os
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from zoo.atomic_write import atomic_path, write_text
from zoo.data.cache import cache_folder
from zoo.data.progress import shown
from zoo.data.splits import fingerprint
from zoo.data.tables.sources.open_files import errors_of_datasets, flat
from zoo.data.tables.sources.stream_corpus import Adapt, StreamCorpus
from zoo.data.tables.table import Table
from zoo.errors import DataError
from zoo.spec import ModelSpec

WINDOW = 5000
"""Rows of a window, where the source names no `buffer`."""
_KEPT = 4
"""Windows that stay in the cache besides the first."""


@dataclass(frozen=True)
class TableStream:
    """Rows of a data set that are read in order, window by window, and never all at once.

    Args:
        name: of the data.
        parts: the rows of each part that is given, as `datasets.IterableDataset`.
        fingerprint: changes when the data or how they are read do.
        window: rows of a window.
        count: rows for training, where it is known without reading them.
        options: names of columns.
    """

    name: str
    parts: Mapping[str, Any] = field(repr=False)
    fingerprint: str
    window: int = WINDOW
    count: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """Count the rows for training: they are read once for this, where nothing tells it."""
        return self._count

    @cached_property
    def _count(self) -> int:
        if self.count is not None:
            return self.count
        path = self._folder / "count.json"
        if not path.exists():
            with errors_of_datasets(self.name):
                write_text(path, json.dumps(sum(1 for _ in _each(copy(self.parts["train"])))))
        return int(json.loads(path.read_text()))

    def corpus(self, adapt: Adapt, spec: ModelSpec, seed: int, tokenizer: str) -> StreamCorpus:
        """Make a corpus of it; see `Streamed`."""
        return StreamCorpus(self, adapt, spec, seed, tokenizer)

    def first(self) -> Table:
        """Give the first window, and of validation and test, where they are given, as many rows."""
        sections = {part: self._section(part, 0) for part in self.parts}
        files = {part: (self.file(part, 0),) for part in self.parts}
        return Table(self.name, sections, fingerprint([self.fingerprint, "first"]), Path(), files, self.options)

    def table(self, number: int, labels: tuple[str, ...]) -> Table:
        """Give a window, with a row of its own for validation and test, which are those of the first window.

        Args:
            number: of the window.
            labels: names of the classes of all windows; empty for none.
        """
        import datasets

        rows = self._section("train", number)
        one = datasets.Dataset(rows.data.slice(0, 1), rows.info)
        sections = {"train": rows, "validation": one, "test": one}
        files = {part: (self.file("train", number),) for part in sections}
        told = fingerprint([self.fingerprint, str(number)])
        return Table(f"{self.name} window {number}", sections, told, Path(), files, self.options, labels)

    @property
    def _folder(self) -> Path:
        folder = cache_folder() / "streams" / self.fingerprint
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _section(self, part: str, number: int) -> Any:
        import datasets
        from filelock import FileLock

        path = self.file(part, number)
        with FileLock(self._folder / f"{part}.lock"), errors_of_datasets(self.name):
            if not path.exists():
                self._read(part, number)
            return flat(datasets.Dataset.from_file(str(path)))

    def _read(self, part: str, number: int) -> None:
        """Read windows up to one, from the nearest before it whose end is known; none is kept but the last ones."""
        key = os.getpid(), self.fingerprint, part  # a forked process shares the place in open files with this one
        reader = _READERS.get(key)
        if reader is None or reader.next > number:
            reader = _READERS[key] = _Reader(self, part, number)
        while reader.next <= number:
            written = reader.next
            reader.write()
            for old in self._folder.glob(f"{part}-*.arrow"):
                if 0 < int(old.stem.rpartition("-")[2]) <= written - _KEPT:
                    old.unlink(missing_ok=True)

    def end_of(self, part: str, number: int) -> Path:
        """Name the file that tells where a window ends."""
        return self._folder / f"{part}-{number}.json"

    def file(self, part: str, number: int) -> Path:
        """Name the file of a window."""
        return self._folder / f"{part}-{number}.arrow"


class _Reader:
    """An open stream of a part, and the number of the window that it reads next."""

    def __init__(self, stream: TableStream, part: str, wanted: int) -> None:
        import fsspec.asyn

        self.stream, self.part = stream, part
        known = (number for number in range(wanted, 0, -1) if stream.end_of(part, number - 1).exists())
        self.next = next(known, 0)
        self.rows = copy(stream.parts[part])
        if self.next:
            self.rows.load_state_dict(json.loads(stream.end_of(part, self.next - 1).read_text()))
        fsspec.asyn.reset_lock()  # of the process that this one was forked from
        self.iterator = _each(self.rows)

    def write(self) -> None:
        """Read a window into its file, then write where it ends.

        Raises:
            DataError: If the stream has ended.
        """
        from datasets.arrow_writer import ArrowWriter

        some: Iterator[dict[str, Any]] = islice(self.iterator, self.stream.window)
        if not self.next:
            some = shown(some, self.stream.window, f"reading {self.stream.name}")
        with atomic_path(self.stream.file(self.part, self.next)) as scratch:
            writer = ArrowWriter(features=self.rows.features, path=str(scratch), writer_batch_size=100)
            for row in some:
                writer.write(row)
            rows, _ = writer.finalize()
        if not rows:
            raise DataError(f"{self.stream.name}: the stream ended before window {self.next}: has it changed?")
        write_text(self.stream.end_of(self.part, self.next), json.dumps(self.rows.state_dict()))
        self.next += 1


def _each(rows: Any) -> Iterator[dict[str, Any]]:
    """Give all rows of a stream: its own iterator parts them between the workers of a `DataLoader`."""
    return ({column: cells[0] for column, cells in batch.items()} for batch in rows.iter(batch_size=1))


_READERS: dict[tuple[int, str, str], _Reader] = {}
"""The streams that this process reads."""
atexit.register(_READERS.clear)  # while the library that closes them is there
