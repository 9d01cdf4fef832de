"""Rows of the user's files that have any number of labels each: a column for each label, or all labels in one column.

Jigsaw's comments have the columns `toxic`, `severe_toxic`, … of 0 and 1: `FILE?text=comment_text&labels=toxic,insult`.
Where one column holds them all, `FILE?label=topics&separator=,` splits it; in JSON lines it may hold a list.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from zoo import DataError
from zoo.data import Parts, for_training, label_columns, label_flag, separator_of, split_labels
from zoo.plugins.text.data.file_readers import UNIT, Row, read_table
from zoo.plugins.text.data.text_files import ending


class LabelSet(NamedTuple):
    """Hold a text, the labels it has, those of which nobody knows, and where it is from."""

    text: str
    labels: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    place: str = ""


def read_label_sets(path: Path, options: Mapping[str, str]) -> Iterator[LabelSet]:
    """Read a file's texts with their labels, as rows are asked for.

    Args:
        path: of the file.
        options: `text`, and `labels` (names of columns, with commas between) or `label` and `separator`.

    Raises:
        DataError: If a cell of a label column is neither 0 nor 1 nor empty, or the file cannot be read.
    """
    columns = label_columns(options)
    if columns:
        named = {"text": options.get("text", "text")} | {column: column for column in columns}
        yield from (of_columns(row, columns) for row in read_table(path, ("text", *columns), named))
        return
    separator = separator_of(options)
    named = {key: options[name] for key, name in (("text", "text"), ("labels", "label")) if name in options}
    if not named and ending(path) == ".tsv":
        named = {"text": "1", "labels": "2"}
    for row in read_table(path, ("text", "labels"), {"labels": "label"} | named):
        cell = row.values[1]
        labels = split_labels(cell, UNIT if cell.startswith(UNIT) else separator)
        yield LabelSet(row.values[0], labels, (), row.place)


def of_columns(row: Row, columns: Sequence[str]) -> LabelSet:
    """Make an example of a text and a cell for each label.

    Raises:
        DataError: If a cell is neither 0 nor 1 nor empty.
    """
    cells = zip(columns, row.values[1:], strict=True)
    told = {name: label_flag(cell, f"{row.place}: {name}") for name, cell in cells}
    right = tuple(name for name, value in told.items() if value)
    return LabelSet(row.values[0], right, tuple(name for name, value in told.items() if value is None), row.place)


def check_columns(columns: Sequence[str], parts: Parts[LabelSet], name: str) -> None:
    """Check that each label column has an example with its label in the training.

    Raises:
        DataError: If one has none.
    """
    found = set(chain.from_iterable(each.labels for each in parts.train))
    missing = [column for column in columns if column not in found]
    if missing and for_training():
        raise DataError(f"{name}: label {missing[0]!r} is right in no training example: leave it out of labels=")
