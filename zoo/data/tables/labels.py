"""Classes of a column of labels: names and numbers, the same in all parts, whatever their order in each."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Int64

from zoo.data.labelling.labels import names_of
from zoo.data.purpose import for_training
from zoo.data.tables.kinds import CLASS, INTEGER, TEXT
from zoo.data.tables.table import Table, shown_rows
from zoo.errors import DataError

HIDDEN = -1
"""The class that `datasets` gives where a label is kept back, as in the tests of GLUE."""


def read_classes(table: Table, column: str) -> tuple[Table, Int64[np.ndarray, " n"], list[str]]:
    """Read a column of labels: give the table, the class of each row, and the names of the classes.

    Labels are names or whole numbers; those of `ClassLabel` are taken by name, so that parts may order them each in its
    way. A part whose labels are all kept back is left out of the table, with a warning. Of data that a run is judged
    on, those of all parts are taken.

    Raises:
        DataError: If labels are missing, fractions or lists, or a label occurs in validation or test alone.
    """
    table = _without_hidden(table, column)
    names = {name: place for place, name in enumerate(table.labels or ())}
    codes = [_codes(table, part, column, names) for part in table.sections]
    return table, np.concatenate(codes), list(names)


def check_complete(table: Table, column: str) -> None:
    """Check that no cell of a column is empty.

    Raises:
        DataError: If one is; the text counts them.
    """
    empty = np.concatenate([np.asarray(chunk.is_null()) for chunk in table.chunks(column)])
    if empty.any():
        raise DataError(f"{table.name}: column {column!r} is empty in {shown_rows(np.flatnonzero(empty))}")


def _without_hidden(table: Table, column: str) -> Table:
    for part, rows in table.sections.items():
        hidden = column not in rows.features or all(map(_is_hidden, rows.data.column(column).chunks))
        if hidden and part == "train":
            raise DataError(f"{table.name}: column {column!r} has no labels at all")
        if hidden:
            warnings.warn(f"{table.name}: the labels of its {part} are kept back; it is not used", stacklevel=4)
            table = table.without(part)
    return table


def _is_hidden(chunk: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    hidden = pa.types.is_integer(chunk.type) and pc.all(pc.equal(chunk, HIDDEN)).as_py()
    return chunk.null_count == len(chunk) or bool(hidden)


def _codes(table: Table, part: str, column: str, names: dict[str, int]) -> Int64[np.ndarray, " part"]:
    """Give the classes of a part by their names; the names of the training are all there are."""
    import pyarrow.compute as pc

    rows = table.sections[part]
    cells, feature = rows.data.column(column), rows.features[column]
    _check_kind(table, column)
    own = feature.names if table.kinds[column] == CLASS else None
    found = pc.dictionary_encode(cells).combine_chunks()
    values, places = found.dictionary.to_pylist(), found.indices
    missing = np.asarray(pc.is_null(places))
    if own:
        missing |= np.asarray(pc.equal(cells, HIDDEN).fill_null(True))
    if missing.any():
        raise DataError(f"{table.name}: column {column!r} has no label in {shown_rows(np.flatnonzero(missing))}")
    labels = [own[value] if own else str(value) for value in values]
    if part == "train" and not names:
        counts = np.bincount(np.asarray(places), minlength=len(values))
        checked = names_of(_repeated(labels, counts), table.name)
        order = own or sorted(checked, key=_natural)
        names |= {name: place for place, name in enumerate(order)}
    strange = sorted(set(labels) - names.keys())
    if not for_training():
        names |= {name: place for place, name in enumerate(strange, len(names))}
    elif strange:
        raise DataError(
            f"{table.name}: label{'s' if len(strange) > 1 else ''} {', '.join(strange[:5])} of {part} are in no "
            f"{'example of the first window' if table.labels else 'training example'}, which have "
            f"{', '.join(list(names)[:20])}{'; set a larger ?buffer=' if table.labels else ''}"
        )
    return np.array([names[label] for label in labels], np.int64)[np.asarray(places)]


def _check_kind(table: Table, column: str) -> None:
    kind = table.kinds[column]
    if kind not in (CLASS, INTEGER, TEXT):
        first = table.cell(column, 0)
        raise DataError(
            f"{table.name}: column {column!r} holds {kind}, such as {str(first)[:40]}; a label is a name or a whole "
            "number, one for each example"
        )


def _repeated(labels: list[str], counts: Int64[np.ndarray, " k"]) -> Iterator[str]:
    """Give each label as often as it takes to see whether it occurs more than once."""
    for label, count in zip(labels, counts, strict=True):
        yield from [label] * min(int(count), 2)


def _natural(label: str) -> tuple[int, int, str]:
    """Order whole numbers by size, before names."""
    return (0, int(label), "") if label.lstrip("-").isdecimal() else (1, 0, label)
