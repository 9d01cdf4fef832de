"""`LineColumns`: the columns of tables that are read line by line, by the lines that examples are from."""

import csv
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

_SEPARATORS = {".csv": ",", ".tsv": "\t"}

Line = tuple[Path, int]
"""A file, and the number of a line in it, from 1."""


@dataclass(frozen=True)
class LineColumns:
    """Columns of files with a header (.csv, .tsv) or of JSON lines, plain or .gz, see `zoo.data.items.Columns`.

    Args:
        lines: of the examples of each split, in their order.
    """

    lines: Mapping[str, Sequence[Line]]

    @classmethod
    def of_places(cls, places: Mapping[str, Sequence[str]]) -> "LineColumns | None":
        """Read `PATH:LINE` of each example of each split; None where the files have no named columns."""
        if not all(place.rpartition(":")[2].isdigit() for some in places.values() for place in some):
            return None
        lines = {split: [_line(place) for place in some] for split, some in places.items()}
        paths = {path for some in lines.values() for path, _ in some}
        return cls(lines) if paths and all(_kind(path) in (*_SEPARATORS, ".jsonl") for path in paths) else None

    @property
    def names(self) -> Sequence[str]:
        """Name the columns of all files."""
        return list(dict.fromkeys(name for cells in self._cells.values() for name in cells))

    def values(self, name: str, split: str) -> Sequence[Any]:
        """Give the cell of each example of a split; None where its line has no such column."""
        return [self._cells.get(line, {}).get(name) for line in self.lines[split]]

    @cached_property
    def _cells(self) -> dict[Line, dict[str, Any]]:
        paths = dict.fromkeys(path for some in self.lines.values() for path, _ in some)
        return {(path, number): cells for path in paths for number, cells in _read(path)}


def _line(place: str) -> Line:
    path, _, number = place.rpartition(":")
    return Path(path), int(number)


def _kind(path: Path) -> str:
    return (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()


def _read(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the number and the cells of each line; those of JSON that hold a text or a number."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8-sig") as file:
        if _kind(path) == ".jsonl":
            for number, line in enumerate(file, 1):
                with suppress(ValueError):
                    cells = json.loads(line)
                    yield number, {key: value for key, value in cells.items() if isinstance(value, str | int | float)}
            return
        kind = _kind(path)  # a text in .tsv may begin with a quotation mark, which ends nowhere
        quotes: Any = csv.QUOTE_NONE if kind == ".tsv" else csv.QUOTE_MINIMAL
        reader = csv.DictReader(file, delimiter=_SEPARATORS[kind], quoting=quotes)
        for row in reader:
            yield reader.line_num, {key: value for key, value in row.items() if key is not None}
