"""Pictures of a table for image classification: a column of pictures or of their paths, and one of labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64

from zoo import ModelSpec
from zoo.data import (
    LABELS,
    OPTIONS,
    Columns,
    Role,
    Table,
    TableColumns,
    choose_columns,
    read_classes,
    read_label_sets,
)
from zoo.plugins.vision.corpora.image_corpus import ImageCorpus, adapt
from zoo.plugins.vision.corpora.multi_label_corpus import MultiLabelImages
from zoo.plugins.vision.data.folders.folder import SIZE, Folder
from zoo.plugins.vision.data.folders.folder_index import FolderIndex

IMAGE = Role(
    "image",
    ("image", "bytes", "text"),
    ("image", "img", "picture", "photo", "path", "file", "file_name", "filename"),
    also=("path",),
)
LABEL = Role("label", ("class", "integer", "text"), ("label", "labels", "class", "cls", "target", "category"))


def open_table(table: Table, spec: ModelSpec, seed: int, tokenizer: str) -> ImageCorpus | MultiLabelImages:
    """Make a corpus of the columns `image` and `label`: pictures, or paths relative to the file of the table.

    With `?labels=A,B,C`, columns of 0 and 1, or `?separator=,` and a column of texts or lists, a picture has any number
    of labels.

    Raises:
        DataError: If a column cannot be chosen, files are not there, or labels are none.
    """
    if set(OPTIONS) & table.options.keys():
        return _label_sets(table, spec, seed, tokenizer)
    columns = choose_columns(table, IMAGE, LABEL)
    index = TableIndex.of(table, columns["image"], columns["label"])
    cache = None if table.labels is None else False  # a window of a stream is read once
    return adapt(Folder.of(index, spec.config.get("image_size") or SIZE, seed, cache), spec, seed, tokenizer)


def _label_sets(table: Table, spec: ModelSpec, seed: int, tokenizer: str) -> MultiLabelImages:
    roles = (IMAGE,) if "labels" in table.options else (IMAGE, LABELS)
    columns = choose_columns(table, *roles, options=OPTIONS)
    names, codes, sets = read_label_sets(table, columns.get("label", ""))
    classes = [" ".join(name for name, there in zip(names, each, strict=True) if there == 1) for each in sets]
    index = TableIndex.made(table, columns["image"], codes, classes, "-".join(sorted(table.options.values())))
    cache = None if table.labels is None else False
    images = adapt(Folder.of(index, spec.config.get("image_size") or SIZE, seed, cache), spec, seed, tokenizer)
    return MultiLabelImages(images, names, torch.from_numpy(sets))


@dataclass(frozen=True, eq=False)
class TableIndex(FolderIndex):
    """Pictures of a table: what a folder's index tells, and each picture opened from its cell.

    Args:
        table: holds them.
        column: of the pictures.
    """

    table: Table | None = None
    column: str = ""

    @classmethod
    def of(cls, table: Table, column: str, label: str) -> "TableIndex":
        """Read the labels, and which picture is which; pictures are not decoded."""
        table, labels, classes = read_classes(table, label)
        return cls.made(table, column, labels, classes, label)

    @classmethod
    def made(
        cls, table: Table, column: str, labels: Int64[np.ndarray, " n"], classes: Sequence[str], label: str
    ) -> "TableIndex":
        """Make an index of pictures whose classes are known; `label` is told in its fingerprint."""
        sizes, times = table.file_stats(column)
        arrays = {
            "hashes": table.hashes(column),
            "labels": labels,
            "given": (table.given + 1 if len(table.sections) > 1 else np.zeros_like(table.given)),
            "sizes": sizes,
            "times": times,
        }
        fingerprint = f"{table.fingerprint}-{column}-{label}"
        return cls(Path(table.name), tuple(classes), (), fingerprint, arrays, table=table, column=column)

    def __reduce__(self) -> tuple[Any, ...]:
        about = (self.root, self.classes, self.notes, self.fingerprint, self.arrays, None, self.table, self.column)
        return TableIndex, about

    def columns(self, seed: int) -> Columns | None:
        """Give the columns of the table."""
        assert self.table is not None
        return TableColumns(self.table, {part: rows.tolist() for part, rows in self.parts(seed).items()})

    @property
    def title(self) -> str:
        """Name the table."""
        return str(self.root)

    @property
    def place(self) -> str:
        """Name the table."""
        return str(self.root)

    def name(self, place: int) -> bytes:
        """Name a picture by its row, and its path where it has one."""
        assert self.table is not None
        return self.table.file_name(self.column, place).encode(errors="surrogateescape")

    def opened(self, place: int) -> Path | BytesIO:
        """Give the path of a picture, or its bytes."""
        assert self.table is not None
        return self.table.file(self.column, place)
