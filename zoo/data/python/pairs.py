"""`Pairs`: examples that a program gives, as pairs of input and target, or inputs alone; `table` makes a `Table`."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from zoo.atomic_write import SCRATCH, replace_synced
from zoo.data.cache import cache_folder
from zoo.data.progress import shown
from zoo.data.splits import fingerprint
from zoo.data.tables.table import Table
from zoo.errors import DataError

_ROWS = 500
"""Rows that are written at once."""
_SHOWN = 80
"""Characters of an item in an error."""
Cell = Callable[[Any, Any, str], Any]
"""Makes the cell of a column: of an input, its target, and the name of the example for errors."""


class Columns(Sequence[tuple[Any, Any]]):
    """Arrays of inputs and targets, seen as pairs.

    Args:
        inputs: one row for each example.
        targets: as many.
        name: for errors.

    Raises:
        DataError: If they are not as many.
    """

    def __init__(self, inputs: Any, targets: Any, name: str) -> None:
        if len(inputs) != len(targets):
            raise DataError(f"{name}: {len(inputs):,} inputs and {len(targets):,} targets: give one for each")
        self.inputs, self.targets = inputs, targets

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, place: Any) -> Any:
        return self.inputs[place], self.targets[place]


@dataclass(frozen=True)
class Pairs:
    """Examples of each part that is given; an item is a pair (input, target), or an input alone.

    Args:
        name: of the data.
        parts: the items of `train`, and perhaps of `validation` and `test`: anything with a length and places, such as
            a `torch.utils.data.Dataset`; read one by one.
        options: names of columns and others, as behind the question mark of `--data`.
    """

    name: str
    parts: Mapping[str, Any] = field(repr=False)
    options: Mapping[str, str] = field(default_factory=dict)

    def first(self, count: int = 1) -> list[Any]:
        """Give the first items for training."""
        items = self.parts["train"]
        return [items[place] for place in range(min(count, len(items)))]

    @property
    def paired(self) -> bool:
        """Whether items are pairs, as the first one is."""
        return is_pair(self.first()[0])

    def pairs(self, part: str) -> Iterator[tuple[Any, Any, str]]:
        """Give input, target and name of each example of a part.

        Raises:
            DataError: If an item is no pair; the text says what it is.
        """
        items = self.parts[part]
        for place in range(len(items)):
            item = items[place]
            if not is_pair(item):
                raise DataError(f"{part}[{place}] is {described_item(item)}: a pair (input, target) is wanted")
            yield item[0], item[1], f"{part}[{place}]"

    def inputs(self, part: str) -> Iterator[tuple[Any, Any, str]]:
        """Give each item of a part as an input without a target, and its name."""
        items = self.parts[part]
        return ((items[place], None, f"{part}[{place}]") for place in range(len(items)))

    def table(self, paired: bool = True, **columns: Cell) -> Table:
        """Write columns that are made of the examples into the cache, and give them as a table.

        Examples are read once, in their order; the file is named by what it holds.

        Args:
            paired: whether items are pairs.
            columns: what makes the cells of each.

        Raises:
            DataError: If an item is no pair, or cells of a column do not fit each other.
        """
        import datasets

        read = self.pairs if paired else self.inputs
        files = {part: (_written(self.name, read(part), len(self.parts[part]), columns),) for part in self.parts}
        sections = {part: datasets.Dataset.from_file(str(path)) for part, (path,) in files.items()}
        told = fingerprint([*(path.stem for (path,) in files.values()), repr(sorted(self.options.items()))])
        return Table(self.name, sections, told, Path(), files, self.options, from_python=True)


def is_pair(item: Any) -> bool:
    """Tell whether an item is a tuple or a list of two."""
    return isinstance(item, tuple | list) and len(item) == 2


def described_item(item: Any) -> str:
    """Say what an item is: its type, and its size or the begin of what it holds."""
    kind = type(item).__name__
    if isinstance(item, tuple | list):
        inner = ", ".join(type(each).__name__ for each in item[:5])
        return f"a {kind} of {len(item)} ({inner}{', …' if len(item) > 5 else ''})"
    if hasattr(item, "shape"):
        return f"{kind} of shape {tuple(item.shape)}"
    if isinstance(item, dict):
        return f"a dict with keys {', '.join(map(str, [*item][:10]))}"
    text = repr(item)
    return f"{kind} {text if len(text) <= _SHOWN else text[:_SHOWN] + '…'}"


def label_cell(given: Any, target: Any, place: str) -> str | int:
    """Give a label as a text or a whole number.

    Raises:
        DataError: If it is neither.
    """
    if hasattr(target, "item") and getattr(target, "size", None) is not None and np.ndim(target) == 0:
        target = target.item()
    if isinstance(target, float) and target.is_integer():
        target = int(target)
    if isinstance(target, bool):
        return int(target)
    if not isinstance(target, str | int):
        raise DataError(f"{place}: the label is {described_item(target)}; a name or a whole number is wanted")
    return target


def _written(name: str, rows: Iterator[tuple[Any, Any, str]], count: int, columns: Mapping[str, Cell]) -> Path:
    rest = iter(shown(rows, count, f"reading {name}"))
    return named_by_content(cache_folder() / "tables", lambda path: _write(path, name, rest, columns), name)


def named_by_content(folder: Path, write: Callable[[Path], None], name: str) -> Path:
    """Write an Arrow file that is called by the hash of what it holds.

    Args:
        folder: in the cache.
        write: writes it to a path.
        name: of the data, for errors.

    Raises:
        DataError: If it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(prefix=SCRATCH, suffix=".arrow", dir=folder)
        os.close(handle)
        try:
            write(Path(scratch))
            with open(scratch, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
            path = folder / f"given-{digest}.arrow"
            replace_synced(Path(scratch), path)
        finally:
            Path(scratch).unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"{name} cannot be written: {error}; set ZOO_CACHE to a folder that has room") from error
    return path


def _write(path: Path, name: str, rows: Iterator[tuple[Any, Any, str]], columns: Mapping[str, Cell]) -> None:
    import pyarrow as pa

    schema: Any = None
    first: dict[str, tuple[str, Any]] = {}
    with ExitStack() as opened:
        while some := list(islice(rows, _ROWS)):
            cells = {column: [cell(*row) for row in some] for column, cell in columns.items()}
            first = first or {column: (some[0][2], values[0]) for column, values in cells.items()}
            try:
                table = pa.table({column: _array(values) for column, values in cells.items()})
                if schema is None:
                    schema = table.schema
                    writer = opened.enter_context(pa.ipc.new_stream(str(path), schema))
                writer.write_table(table.cast(schema))
            except (pa.ArrowException, TypeError) as error:
                told = _two_types(first, cells, [row[2] for row in some])
                raise DataError(
                    f"{name}: {told or f'values from {some[0][2]} on are of several types ({error})'}; give all of "
                    "a column one type"
                ) from error


def _two_types(first: Mapping[str, tuple[str, Any]], cells: Mapping[str, list[Any]], places: Sequence[str]) -> str:
    """Name two values of a column that are of different types; nothing where there are none.

    Args:
        first: where the first value of each column is, and the value.
        cells: further values of each column.
        places: where these are.
    """
    for column, (begin, value) in first.items():
        for place, other in zip(places, cells[column], strict=True):
            if _kind(other) is not _kind(value):
                return (
                    f"the {column} of {begin} is {described_item(value)}, and that of {place} {described_item(other)}"
                )
    return ""


def _kind(value: Any) -> type[Any]:
    return float if isinstance(value, int) else type(value)


def _array(values: list[Any]) -> Any:
    """Make an Arrow array; of files, each a path or bytes, whichever of them there are."""
    import pyarrow as pa

    files = isinstance(values[0], dict) and {*values[0]} == {"bytes", "path"}
    kind = pa.struct({"bytes": pa.large_binary(), "path": pa.large_string()}) if files else None
    return pa.array(values, kind)
