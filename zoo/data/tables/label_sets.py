"""Label sets of a table: any number of labels for each row, as `?labels=A,B,C` or as a column of lists or texts.

Axes: n rows, s different sets, k labels.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Int64

from zoo.data.labelling.label_sets import label_columns, label_flag, separator_of, split_labels
from zoo.data.labelling.labels import names_of
from zoo.data.purpose import for_training
from zoo.data.tables.kinds import CLASSES, INTEGERS, TEXT, TEXTS
from zoo.data.tables.roles import Role
from zoo.data.tables.table import Table
from zoo.errors import DataError

LABELS = Role(
    "label",
    (CLASSES, TEXTS, INTEGERS, TEXT),
    ("labels", "label", "tags", "categories", "classes"),
)
OPTIONS = ("labels", "separator")
"""Options of tables whose rows have any number of labels, see `label_columns` and `separator_of`."""


class LabelSets(NamedTuple):
    """The labels of rows; the set of a row is `sets[codes[row]]`."""

    names: tuple[str, ...]
    codes: Int64[np.ndarray, " n"]
    sets: Float32[np.ndarray, "s k"]
    """1 for labels that are in the set, 0 for others, NaN where nobody knows."""


def read_label_sets(table: Table, column: str = "") -> LabelSets:
    """Read the labels of a table.

    Args:
        table: whose options may name columns, or a separator.
        column: that holds all labels, as lists, or texts with the separator between; without, there is one for each.

    Raises:
        DataError: If a column is not there, a cell is no label, or a label is in no training row.
    """
    names, rows = _of_column(table, column) if column else _of_columns(table, label_columns(table.options))
    train = np.nan_to_num(rows[: len(table.sections["train"])])
    missing = [name for name, found in zip(names, train.any(0), strict=True) if not found]
    if missing and for_training():
        raise DataError(f"{table.name}: label {missing[0]!r} is in no training row")
    told = np.where(np.isnan(rows), np.float32(-1), rows)  # no NaN is equal to another
    sets, codes = np.unique(told, axis=0, return_inverse=True)
    return LabelSets(names, codes.reshape(-1).astype(np.int64), np.where(sets < 0, np.float32(np.nan), sets))


def _of_columns(table: Table, names: Sequence[str]) -> tuple[tuple[str, ...], Float32[np.ndarray, "n k"]]:
    if missing := [name for name in names if name not in table.kinds]:
        raise DataError(f"{table.name} has no column {missing[0]!r} for labels; it has {', '.join(table.kinds)}")
    rows = np.full((len(table), len(names)), np.nan, np.float32)
    for place, name in enumerate(names):
        for row, cell in enumerate(table.values(name)):
            told = label_flag(cell, f"{table.name} row {row}: {name}")
            rows[row, place] = np.nan if told is None else told
    return tuple(names), rows


def _of_column(table: Table, column: str) -> tuple[tuple[str, ...], Float32[np.ndarray, "n k"]]:
    separator = separator_of(table.options)
    classes = table.class_names(column, 0) if table.kinds[column] == CLASSES else []
    found = [
        split_labels([classes[each] for each in cell] if classes and cell else cell, separator)
        for cell in table.values(column)
    ]
    train = found[: len(table.sections["train"])] if for_training() else found
    names = classes or names_of((label for labels in train for label in labels), table.name)
    place = {name: at for at, name in enumerate(names)}
    rows = np.zeros((len(found), len(names)), np.float32)
    for row, labels in enumerate(found):
        if strange := [label for label in labels if label not in place]:
            raise DataError(f"{table.name} row {row}: label {strange[0]!r} is in no training row")
        rows[row, [place[label] for label in labels]] = 1
    return tuple(names), rows
