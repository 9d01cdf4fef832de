"""`TextStream`: examples of files too large to hold, read anew when they are needed; what is made of them is cached."""

import heapq
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from zoo import DataError
from zoo.data import (
    FEWER_PROCESSORS,
    FIRST_HASH,
    Parts,
    RaggedIds,
    RaggedWriter,
    Workers,
    cached_file,
    cached_folder,
    default_workers,
    fingerprint,
    hash_fraction,
    shown,
    write_text,
)
from zoo.plugins.text.data.text_files import PARTS, signature, text_size

Example = TypeVar("Example")
Encode = Callable[[str, Sequence[Example]], list[RaggedIds]]
"""Makes columns, of one row or several for each example, of a part's examples."""

HELD_OUT = 0.01
"""Share of the examples that is kept for validation, and as much for the test, where they are not given."""
MOST = 2000
"""Examples of these that are read, those of the lowest hashes; the others are not used."""
SAMPLE = 100e6
"""Bytes of text, about, that a vocabulary is learned from."""
_BATCH = 1 << 17
"""Characters that are encoded at once: with more, the library's results leave the caches of the processor."""
_FORMAT = 1
"""Of the files in the cache; those of another are not read, but made anew."""
_JOURNAL, _EVERY = "journal.json", 5.0
"""What a stopped process has encoded, and seconds between two times that it is written."""


class TextStream(Generic[Example]):
    """Examples of large files and the part of each, in constant memory: training first, then validation and test.

    The part of an example is decided by a hash of its text, so that it stays where it is when others come or go. Of a
    part that is drawn, the `MOST` examples of the lowest hashes are read; the others are not used.

    Args:
        files: of `train`, and of `validation` and `test` where they are given.
        read: gives the examples of some files.
        text: of an example, which decides its part.
        seed: of the split.
        name: of the data.
        how: what else decides the examples, such as names of columns.
    """

    held_out = HELD_OUT
    """Share of each part that is drawn."""

    def __init__(
        self,
        files: Mapping[str, tuple[Path, ...]],
        read: Callable[[tuple[Path, ...]], Iterable[Example]],
        text: Callable[[Example], str],
        seed: int,
        name: str,
        how: str = "",
    ) -> None:
        self.files, self.read, self.text, self.seed, self.name = files, read, text, seed, name
        self.signature = [*signature(files), how, str(seed)]
        self.bytes = text_size([path for paths in files.values() for path in paths])
        folders = sorted({str(path.absolute().parent) for paths in files.values() for path in paths})
        self._key = fingerprint([*folders, *self.signature])

    def __iter__(self) -> Iterator[tuple[str, Example]]:
        """Give each example with its part."""
        for part, _, example in self._placed():
            yield part, example

    def _placed(self) -> Iterator[tuple[str, float, Example]]:
        held: dict[str, list[tuple[float, int, Example]]] = {part: [] for part in self._missing()}
        for order, (part, place, example) in enumerate(self._drawn()):
            if part == "train":
                yield part, place, example
            else:
                kept = held[part]  # a heap whose first has the highest hash, so that the lowest stay
                (heapq.heappush if len(kept) < MOST else heapq.heappushpop)(kept, (-place, -order, example))
        for part in ("validation", "test"):
            if part in held:
                yield from (
                    (part, -place, example) for place, _, example in sorted(held[part], key=lambda one: -one[1])
                )
            else:
                yield from ((part, 0.0, example) for example in self.read(self.files[part]))

    def _drawn(self) -> Iterator[tuple[str, float, Example]]:
        """Give the part of each example for training, and the number in [0, 1) that decides it, see `FIRST_HASH`."""
        missing = self._missing()
        for example in self.read(self.files["train"]):
            place = hash_fraction(self.text(example), self.seed)
            home = (part for part in missing if (place - FIRST_HASH[part]) % 1 < self.held_out)
            yield next(home, "train"), place, example

    def _missing(self) -> list[str]:
        return [part for part in ("test", "validation") if part not in self.files]

    def sample(self, texts: Callable[[Example], Iterable[str]], most: float = SAMPLE) -> Iterator[str]:
        """Give the texts of training examples that a hash chooses, so many bytes at most."""
        share = min(1.0, most / max(1, text_size(self.files["train"])))
        drawn = self.held_out * len(self._missing())
        left = most
        for part, place, example in self._placed():
            if part != "train" or left <= 0:
                return
            if place <= drawn + (1 - drawn) * share:
                for text in texts(example):
                    left -= len(text)
                    yield text

    def cached(self, name: str, make: Callable[[Path], None]) -> Path:
        """Give a file of the cache that is made of these examples, once."""
        return cached_file(f"texts/{self._key}-{name}", make)

    def encoded(self, encode: Encode[Example], how: str) -> dict[str, list[RaggedIds]]:
        """Give the columns of each part, memory-mapped; they are made once, for all processes and later trainings.

        Args:
            encode: makes them of some examples of a part; worker processes call it.
            how: what else decides them, such as the tokenizer.

        Raises:
            DataError: If a part has no examples, or they cannot be written.
        """
        key = fingerprint([how, f"format {_FORMAT}"])
        folder = cached_folder(f"texts/{self._key}-{key}", lambda scratch: self._write(scratch, encode))
        for part in PARTS:
            if not (folder / part).exists():
                raise DataError(f"{self.name} has no example for {part}: give a file for it, or more texts that differ")
        return {part: [RaggedIds.mapped(column) for column in sorted((folder / part).iterdir())] for part in PARTS}

    def _write(self, folder: Path, encode: Encode[Example]) -> None:
        encoder = _Encoder(encode)
        made_ahead = Workers(encoder, workers=default_workers(shared=False), advice=FEWER_PROCESSORS)
        with ExitStack() as opened, made_ahead as workers:
            columns = _Columns(folder, opened)
            batches = _batches(islice(self, columns.examples, None), self.text)
            what = f"tokenizing {self.name}, MB of text"
            bar = shown(batches, self.bytes // 10**6, what, size=lambda one: one[2] / 1e6)
            for part, examples, found in workers.read(encoder.batch, (one[:2] for one in bar)):
                columns.add(part, examples, found)
            columns.save()
        if self.signature[:-2] != signature(self.files):
            raise DataError(f"{self.name} was written to while it was read: start again when its files are whole")
        (folder / _JOURNAL).unlink()


class _Encoder(Generic[Example]):
    """What worker processes call."""

    def __init__(self, encode: Encode[Example]) -> None:
        self.encode = encode

    def batch(self, part: str, examples: Sequence[Example]) -> tuple[str, int, list[RaggedIds]]:
        return part, len(examples), self.encode(part, examples)


class _Columns:
    """Files of columns of each part, and the journal from which a stopped process is gone on with."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self.folder, self._opened, self._saved = folder, opened, time.monotonic()
        self._columns: dict[str, list[RaggedWriter]] = {}
        self.examples = 0
        if (folder / _JOURNAL).exists():
            state = json.loads((folder / _JOURNAL).read_text())
            self.examples = state["examples"]
            for part, columns in state["columns"].items():
                self._open(part, [(np.dtype(name), rows, ids) for name, rows, ids in columns])

    def add(self, part: str, examples: int, found: Sequence[RaggedIds]) -> None:
        if part not in self._columns:
            self._open(part, [(rows.flat.dtype, 0, 0) for rows in found])
        for column, rows in zip(self._columns[part], found, strict=True):
            column.add(rows)
        self.examples += examples
        if time.monotonic() - self._saved > _EVERY:
            self.save()

    def save(self) -> None:
        """Force everything to the disk, then the journal that says so."""
        state: dict[str, list[Any]] = {}
        for part, columns in self._columns.items():
            for column in columns:
                column.flush()
            state[part] = [(column.dtype.name, column.rows, column.ids) for column in columns]
        write_text(self.folder / _JOURNAL, json.dumps({"examples": self.examples, "columns": state}))
        self._saved = time.monotonic()

    def _open(self, part: str, columns: Sequence[tuple[np.dtype[Any], int, int]]) -> None:
        (self.folder / part).mkdir(exist_ok=True)
        self._columns[part] = [
            self._opened.enter_context(RaggedWriter(self.folder / part / str(number), *column))
            for number, column in enumerate(columns)
        ]


def encoded(
    parts: Parts[Example] | TextStream[Example], encode: Encode[Example], how: str
) -> dict[str, list[RaggedIds]]:
    """Give the columns of each part: in memory, or of a stream memory-mapped; see `TextStream.encoded`."""
    if isinstance(parts, TextStream):
        return parts.encoded(encode, how)
    return {part: encode(part, examples) for part, examples in parts.by_name().items()}


def _batches(
    examples: Iterable[tuple[str, Example]], text: Callable[[Example], str]
) -> Iterator[tuple[str, list[Example], int]]:
    """Give examples of one part together, of about as many characters, and how many these are."""
    batch: list[Example] = []
    part, size = "", 0
    for own, example in examples:
        if batch and (own != part or size >= _BATCH):
            yield part, batch, size
            batch, size = [], 0
        part, size = own, size + len(text(example)) + 1
        batch.append(example)
    if batch:
        yield part, batch, size
