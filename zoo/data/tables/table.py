"""`Table`: rows of named columns of any source, memory-mapped, with the part that each row was given in."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BytesIO
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Int8, Int64, UInt64

from zoo.data.cache import cached_file
from zoo.data.progress import shown
from zoo.data.purpose import for_training
from zoo.data.splits import by_hash, fingerprint, hash_names
from zoo.data.tables.kinds import OF_FILES, kind_of
from zoo.errors import DataError
from zoo.names import counted

PARTS = ("train", "validation", "test")
_ROWS = 1000
"""Rows that are read at a time."""


@dataclass(frozen=True)
class Table:
    """Rows of named columns; n rows, numbered from 0, those for training first.

    It is small wherever it is sent: Arrow files are mapped again by their paths.

    Args:
        name: of the data, as `--data` names them.
        sections: the rows of each part that is given, as `datasets.Dataset` without chosen rows.
        fingerprint: changes when the data or how they are read do.
        root: folder that paths in cells are relative to.
        files: that the rows of each part are from.
        options: what stands behind the question mark, such as the names of columns.
        labels: of a window of a stream, the names of all classes, if there are any; None for a table of its own.
        from_python: whether a program gives the rows, and the options as `columns=`.
    """

    name: str
    sections: Mapping[str, Any] = field(repr=False)
    fingerprint: str
    root: Path
    files: Mapping[str, tuple[Path, ...]] = field(default_factory=dict, repr=False)
    options: Mapping[str, str] = field(default_factory=dict)
    labels: tuple[str, ...] | None = None
    from_python: bool = False

    def __post_init__(self) -> None:
        if not len(self):
            raise DataError(f"{self.name} is empty: it has no rows")
        if empty := [part for part, rows in self.sections.items() if not len(rows)]:
            hint = "" if "train" in empty else f"; leave it out, and {empty[0]} is drawn from the training examples"
            raise DataError(f"{self.name}: {' and '.join(empty)} has no rows{hint}")

    def __len__(self) -> int:
        return int(self._ends[-1])

    def option(self, name: str, value: str = "COLUMN") -> str:
        """Write an option as errors show it: `?text=COLUMN` behind the name, or what a program gives as `columns=`."""
        return f"columns={{{name!r}: {value!r}}}" if self.from_python else f"?{name}={value}"

    def advice(self, *names: str) -> str:
        """Say how one of some options is given, each the name of a column."""
        written = " or ".join(map(self.option, names))
        return f"give {written}" if self.from_python else f"write {written} behind it"

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Name the columns, each with the kind of what it holds; see `zoo.data.tables.kinds`."""
        return {name: kind_of(name, feature) for name, feature in self.sections["train"].features.items()}

    @cached_property
    def given(self) -> Int8[np.ndarray, " n"]:
        """Give the part of each row, as its place in `PARTS`."""
        parts = np.array([PARTS.index(part) for part in self.sections], np.int8)
        return np.repeat(parts, [len(rows) for rows in self.sections.values()])

    def cell(self, column: str, row: int) -> Any:
        """Read a cell, as a value of Python."""
        section, place = self._place(row)
        return self._arrow(section, column)[place].as_py()

    def file(self, column: str, row: int) -> BytesIO | Path:
        """Give the content of a cell that holds a picture or a sound, or names a file: its path, or its bytes opened.

        Raises:
            OSError: If it is a part of a file that cannot be read.
        """
        opened = _opened(self.cell(column, row), self.root)
        return FileBytes(opened, self.file_name(column, row)) if isinstance(opened, bytes) else opened

    def file_name(self, column: str, row: int) -> str:
        """Name what a cell holds for messages: its path, or the number of the row."""
        value = self.cell(column, row)
        path = (
            value.get("name", value["path"]) if isinstance(value, dict) else value if isinstance(value, str) else None
        )
        return f"row {row}" + (f" ({path})" if path else "")

    def file_stats(self, column: str) -> tuple[Int64[np.ndarray, " n"], Int64[np.ndarray, " n"]]:
        """Give the size of each picture or sound in bytes, and the time of its last change in ns.

        Raises:
            DataError: If the column names files that are not there; the text counts and names them.
        """
        # without paths of their own, all have changed when the table has
        time, found, missing = int(self.fingerprint, 16) >> 1, [], []
        for row, value in enumerate(self._light(column)):
            try:
                found.append(_stat(value, self.root, time))
            except OSError:
                missing.append(row)
        if missing:
            names = ", ".join(self.file_name(column, row) for row in missing[:5])
            more = f" and {len(missing) - 5:,} more" if len(missing) > 5 else ""
            raise DataError(
                f"{self.name}: {len(missing):,} of {len(self):,} files that column {column!r} names are not there: "
                f"{names}{more}; paths are relative to {str(self.root)!r}"
            )
        sizes, times = np.array(found, np.int64).T
        return sizes.copy(), times.copy()

    def chunks(self, column: str) -> Iterator[Any]:
        """Give the cells of a column as Arrow arrays, in the order of the rows."""
        for section in self.sections:
            yield from self._arrow(section, column).chunks

    def values(self, column: str, part: str = "") -> Iterator[Any]:
        """Give the cells of a column as values of Python, in the order of the rows; of one part, or of all."""
        for section in [part] if part else self.sections:
            for chunk in self._arrow(section, column).chunks:
                for start in range(0, len(chunk), _ROWS):
                    yield from chunk.slice(start, _ROWS).to_pylist()

    def records(self, columns: Sequence[str], part: str) -> Iterator[tuple[Any, ...]]:
        """Give the cells of some columns, row by row of a part."""
        return zip(*(self.values(column, part) for column in columns), strict=True)

    def first(self, part: str) -> int:
        """Give the number of the first row of a part."""
        return int(self._ends[[*self.sections].index(part)]) - len(self.sections[part])

    def hashes(self, column: str) -> UInt64[np.ndarray, " n"]:
        """Hash the cells of a column: texts; files by their paths, or their bytes where a path is there twice."""
        if self.kinds[column] not in OF_FILES:
            return self._content_hashes(column, np.full(len(self), True))
        names = hash_names(os.fsencode(_path(value, self.root)) for value in self._light(column)).copy()
        _, places, counts = np.unique(names, return_inverse=True, return_counts=True)
        repeated = counts[places] > 1
        if repeated.any():
            names[repeated] = self._content_hashes(column, repeated)
        return names

    def _content_hashes(self, column: str, rows: Bool[np.ndarray, " n"]) -> UInt64[np.ndarray, " rows"]:
        """Hash what the cells of some rows hold, once; the hashes are kept in the cache folder."""

        def write(path: Path) -> None:
            cells = shown(self.values(column), len(self), "hashing examples")
            hash_names(_content(value, self.root) for value in compress(cells, rows)).tofile(path)

        name = fingerprint([self.fingerprint, column])
        return np.fromfile(cached_file(f"tables/contents-{name}.u64", write), np.uint64)

    def parts(
        self, hashes: UInt64[np.ndarray, " n"], seed: int, classes: Int64[np.ndarray, " n"] | None = None
    ) -> dict[str, Int64[np.ndarray, " part"]]:
        """Give the rows of each part, see `draw_parts`."""
        return draw_parts({part: len(rows) for part, rows in self.sections.items()}, hashes, seed, self.name, classes)

    def class_names(self, column: str, row: int) -> list[str]:
        """Name the classes of a column of them, as the part of a row has them; none where it holds no numbers."""
        feature = self.sections[self._place(row)[0]].features[column]
        return list(getattr(getattr(feature, "feature", feature), "names", []))

    def without(self, part: str) -> "Table":
        """Leave a part out."""
        return replace(self, sections={name: rows for name, rows in self.sections.items() if name != part})

    @cached_property
    def _ends(self) -> Int64[np.ndarray, " parts"]:
        return np.array([len(rows) for rows in self.sections.values()], np.int64).cumsum()

    def _place(self, row: int) -> tuple[str, int]:
        section = int(np.searchsorted(self._ends, row, side="right"))
        before = int(self._ends[section - 1]) if section else 0
        return tuple(self.sections)[section], row - before

    def _arrow(self, section: str, column: str) -> Any:
        return self.sections[section].data.column(column)

    def _light(self, column: str) -> Iterator[Any]:
        """Give the cells of a column of files with the sizes of bytes in place of these."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for chunk in self.chunks(column):
            if pa.types.is_binary(chunk.type) or pa.types.is_large_binary(chunk.type):
                chunk = pa.StructArray.from_arrays([pc.binary_length(chunk)], ["size"])
            elif pa.types.is_struct(chunk.type):
                fields = {each.name: chunk.field(each.name) for each in chunk.type}
                if "bytes" in fields:
                    fields["size"] = pc.binary_length(fields.pop("bytes"))
                chunk = pa.StructArray.from_arrays(list(fields.values()), list(fields), mask=chunk.is_null())
            yield from chunk.to_pylist()


class FileBytes(BytesIO):
    """The content of a file in a table, with a name for messages.

    Args:
        content: of the file.
        name: of the file, or of its row.
    """

    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(content)
        self.name = name

    def __repr__(self) -> str:
        return repr(self.name)

    def __str__(self) -> str:
        return self.name


def _stat(value: Any, root: Path, time: int) -> tuple[int, int]:
    if isinstance(value, dict) and value.get("size") is not None:
        return value["size"], time
    stat = os.stat(root / (value["path"] if isinstance(value, dict) else value))
    return stat.st_size, stat.st_mtime_ns


def draw_parts(
    given: Mapping[str, int],
    hashes: UInt64[np.ndarray, " n"],
    seed: int,
    name: str,
    classes: Int64[np.ndarray, " n"] | None = None,
) -> dict[str, Int64[np.ndarray, " part"]]:
    """Give the places of each part: as they are given, else drawn from those for training by a hash.

    Args:
        given: examples of each part that is given, in their order.
        hashes: of the examples; one is in the same part whatever others come or go, and those of one hash in one part.
        seed: of the draw.
        name: of the data, for the error.
        classes: of the examples, which each part then has alike.

    Raises:
        DataError: If there are too few examples to learn from.
    """
    ends = np.cumsum(list(given.values()))
    parts = {part: np.arange(end - given[part], end) for part, end in zip(given, ends, strict=True)}
    missing, pool = [part for part in PARTS if part not in parts], parts["train"]
    if for_training() and (different := len(np.unique(hashes[pool]))) <= len(missing):
        what = f", of which some are drawn for {' and '.join(missing)}" if missing else ""
        raise DataError(f"{name} has {counted(different, 'different example')} to learn from{what}: that is too few")
    if missing:
        drawn = by_hash(hashes[pool], seed, None if classes is None else classes[pool], missing)
        parts |= {part: pool[places] for part, places in drawn.items()}
    empty = [part for part in PARTS if not len(parts[part])]
    if empty and for_training():
        raise DataError(
            f"{name} has {counted(len(pool), 'example')} to learn from, of which none is left for "
            f"{' and '.join(empty)}: give more, or several of each class"
        )
    return {part: parts[part] for part in PARTS}


def _opened(value: Any, root: Path) -> bytes | Path:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return root / value
    if not isinstance(value, dict):
        raise OSError("the cell is empty")
    if value.get("bytes") is not None:
        return bytes(value["bytes"])
    if "offset" not in value:
        return root / value["path"]
    with (root / value["path"]).open("rb") as file:
        file.seek(value["offset"])
        return file.read(value["size"])


def _path(value: Any, root: Path) -> str:
    """Name a file by its path, relative to the root where it lies below."""
    if isinstance(value, dict):
        return value.get("name") or os.path.relpath(root / (value.get("path") or ""), root)
    return str(value)


def _content(value: Any, root: Path) -> bytes:
    if isinstance(value, dict):
        opened = _opened(value, root)
        return opened if isinstance(opened, bytes) else _path(value, root).encode()
    if isinstance(value, str):
        return os.fsencode(value)
    return value if isinstance(value, bytes) else repr(value).encode()


def shown_rows(rows: Sequence[int] | Int64[np.ndarray, " k"]) -> str:
    """Count some rows and name the first: `3 rows, such as 5, 8, 13`."""
    return f"{len(rows):,} {'row' if len(rows) == 1 else 'rows'}, such as {', '.join(str(row) for row in rows[:3])}"
