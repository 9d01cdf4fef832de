"""Texts of a table: with a label each, with a label for each word, with their translation, or alone."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from zoo import ConfigError, DataError, ModelSpec
from zoo.data import (
    LABELS,
    OPTIONS,
    PARTS,
    BatchedCorpus,
    Parts,
    Role,
    Table,
    TableColumns,
    check_complete,
    choose_columns,
    for_training,
    mix,
    read_classes,
    read_label_sets,
)
from zoo.plugins.text.data.corpus import TextCorpus
from zoo.plugins.text.data.file_readers import Sentence
from zoo.plugins.text.data.label_set_files import LabelSet
from zoo.plugins.text.data.labelled_corpus import Labelled, LabelledCorpus, TaggedCorpus
from zoo.plugins.text.data.language_model_corpus import Line, LinesCorpus, MaskedCorpus
from zoo.plugins.text.data.multi_label_corpus import MultiLabelCorpus
from zoo.plugins.text.data.open_files import LARGE, TextData, packs
from zoo.plugins.text.data.parallel_corpus import Pair, ParallelCorpus
from zoo.plugins.text.data.text_stream import TextStream

Example = TypeVar("Example", bound=tuple[Any, ...])
TEXT = Role("text", ("text",), ("text", "sentence", "content", "document", "review", "txt"))
LABEL = Role("label", ("class", "integer", "text"), ("label", "labels", "category", "class", "cls"), optional=True)
TOKENS = Role("tokens", ("list of text",), ("tokens", "words"), optional=True)
TAGS = Role(
    "tags",
    ("list of class", "list of integer", "list of text"),
    ("tags", "ner_tags", "pos_tags", "labels"),
    optional=True,
)
SOURCE = Role("source", ("text",), ("source", "src", "input", "question", "en"))
TARGET = Role("target", ("text",), ("target", "tgt", "output", "answer", "summary"))


def open_table(table: Table, spec: ModelSpec, seed: int, tokenizer: str) -> BatchedCorpus:
    """Make a corpus of the columns that the model reads.

    An encoder-decoder reads `source` and `target`; a decoder alone `text`, or both where one of these is named; an
    encoder texts with any number of labels where `?labels=` or `?separator=` is given, sentences of `tokens` and
    `tags`, else `text` and `label`, else (also with `task=masked-token`, or where
    `?label=` is empty) `text` with gaps.

    Raises:
        DataError: If a column cannot be chosen, or is empty somewhere.
    """
    if spec.reads == "source" or (spec.reads == "prompt" and {"source", "target"} & table.options.keys()):
        return _pairs(table, spec, seed, tokenizer)
    if spec.reads == "prompt":
        return _lines(table, spec, seed, tokenizer)
    if spec.reads != "encoder":
        raise ConfigError(f"data {table.name!r} are texts in a table, and '{spec.name}' reads none")
    named, masked = table.options.keys(), spec.config.get("task", spec.task) == "masked-token"
    if {"labels", "separator"} & named:
        return _label_sets(table, spec, seed, tokenizer)
    lists = "list of text" in table.kinds.values() and not {"text", "label"} & named
    if {"tokens", "tags"} & named or (lists and not masked):
        return _tagged(table, spec, seed, tokenizer)
    columns = choose_columns(table, TEXT, LABEL)
    if "label" in columns and (not masked or "label" in table.options):
        return _labelled(table, columns, spec, seed, tokenizer)
    return _lines(table, spec, seed, tokenizer)


def _labelled(table: Table, columns: dict[str, str], spec: ModelSpec, seed: int, tokenizer: str) -> LabelledCorpus:
    check_complete(table, columns["text"])
    table, codes, labels = read_classes(table, columns["label"])

    def make(row: int, cells: tuple[Any, ...]) -> Labelled:
        return Labelled(cells[0], labels[codes[row]], f"{table.name} row {row}")

    data = _data(TableTexts(table, "labelled", [columns["text"]], make, lambda each: each.text, seed, codes))
    chosen = data.tokenizer(tokenizer, lambda each: (each.text,))
    about = data.about(f"texts with {len(labels)} labels", chosen)
    return _with_columns(LabelledCorpus(about, spec, chosen, data.parts, labels), table, data)


def _label_sets(table: Table, spec: ModelSpec, seed: int, tokenizer: str) -> MultiLabelCorpus:
    roles = (TEXT,) if "labels" in table.options else (TEXT, LABELS)
    columns = choose_columns(table, *roles, options=OPTIONS)
    check_complete(table, columns["text"])
    names, codes, sets = read_label_sets(table, columns.get("label", ""))

    def make(row: int, cells: tuple[Any, ...]) -> LabelSet:
        told = dict(zip(names, sets[codes[row]].tolist(), strict=True))
        right, unknown = ([name for name, value in told.items() if value == 1], [n for n, v in told.items() if v != v])
        return LabelSet(cells[0], tuple(right), tuple(unknown), f"{table.name} row {row}")

    data = _data(TableTexts(table, "label sets", [columns["text"]], make, lambda each: each.text, seed))
    chosen = data.tokenizer(tokenizer, lambda each: (each.text,))
    about = data.about(f"texts with any of {len(names)} labels", chosen)
    return _with_columns(MultiLabelCorpus(about, spec, chosen, data.parts, names), table, data)


def _tagged(table: Table, spec: ModelSpec, seed: int, tokenizer: str) -> TaggedCorpus:
    required = [Role(role.name, role.kinds, role.usual) for role in (TOKENS, TAGS)]
    columns = list(choose_columns(table, *required).values())
    for column in columns:
        check_complete(table, column)

    classes = {part: table.class_names(columns[1], table.first(part)) for part in table.sections}

    def make(row: int, cells: tuple[Any, ...]) -> Sentence:
        (words, tags), place = cells, f"{table.name} row {row}"
        if len(words) != len(tags) or not words:
            raise DataError(f"{place}: {len(words)} tokens and {len(tags)} tags: each token has one")
        names = classes[PARTS[table.given[row]]]
        return Sentence(tuple(words), tuple(names[tag] if names else str(tag) for tag in tags), place)

    data = _data(TableTexts(table, "tagged", columns, make, lambda each: " ".join(each.words), seed))
    labels = list(table.labels or ()) or data.labels(lambda each: each.tags)
    chosen = data.tokenizer(tokenizer, lambda each: (" ".join(each.words),))
    about = data.about(f"sentences with {len(labels)} labels of words", chosen)
    return _with_columns(TaggedCorpus(about, spec, chosen, data.parts, labels), table, data)


def _pairs(table: Table, spec: ModelSpec, seed: int, tokenizer: str) -> ParallelCorpus:
    columns = list(choose_columns(table, SOURCE, TARGET, options=("units",)).values())

    def make(row: int, cells: tuple[Any, ...]) -> Pair:
        for side, text in zip(("source", "target"), cells, strict=True):
            if not (text or "").strip():
                raise DataError(f"{table.name} row {row}: the {side} is empty")
        source, target = cells
        return Pair(source, target, f"{table.name} row {row}")

    data = _data(TableTexts(table, "pairs", columns, make, lambda each: each.source, seed))
    chosen = data.tokenizer(tokenizer, lambda each: each[:2])
    units = table.options.get("units", "13a")
    corpus = ParallelCorpus(data.about("pairs of texts", chosen), spec, chosen, data.parts, units=units)
    return _with_columns(corpus, table, data)


def _lines(table: Table, spec: ModelSpec, seed: int, tokenizer: str) -> LinesCorpus | MaskedCorpus:
    column = choose_columns(table, TEXT, LABEL, options=("pack",))["text"]

    def make(row: int, cells: tuple[Any, ...]) -> Line | None:
        return Line(cells[0], f"{table.name} row {row}") if (cells[0] or "").strip() else None

    data = _data(TableTexts(table, "lines", [column], make, lambda each: each.text, seed))
    chosen = data.tokenizer(tokenizer, lambda each: (each.text,))
    if spec.reads == "encoder":
        return _with_columns(MaskedCorpus(data.about("texts", chosen), spec, chosen, data.parts), table, data)
    pack = packs(table.options.get("pack", ""), spec, isinstance(data.parts, TextStream))
    about = data.about("texts", chosen, *(["pack"] if pack else []))
    return _with_columns(LinesCorpus(about, spec, chosen, data.parts, pack), table, data)


C = TypeVar("C", bound=TextCorpus)


def _with_columns(corpus: C, table: Table, data: TextData[Any]) -> C:
    """Give a corpus the columns of its table, where each example is one row in memory."""
    if isinstance(data.parts, Parts):
        rows = {part: [_row(each.place) for each in examples] for part, examples in data.parts.by_name().items()}
        if all(len(rows[part]) == corpus.sizes[part] for part in PARTS):
            corpus.columns = TableColumns(table, rows)
    return corpus


def _row(place: str) -> int:
    """Read the number behind `NAME row`."""
    return int(place.rpartition(" ")[2])


Make = Callable[[int, tuple[Any, ...]], Example | None]
"""Makes an example of the number and the cells of a row; None for a row without one."""


def _data(texts: "TableTexts[Example]") -> TextData[Example]:
    """Give the examples of a table, in memory or streamed where they are large, in the same parts."""
    table, seed, given = texts.table, texts.seed, len(texts.table.sections) > 1
    if texts.bytes >= LARGE and table.labels is None:
        return TextData(table.name, seed, given, texts)
    found: dict[str, list[Example]] = {part: [] for part in PARTS}
    for part, example in texts:
        found[part].append(example)
    empty = [part for part, examples in found.items() if not examples]
    if empty and for_training():
        raise DataError(f"{table.name} has no text for {' and '.join(empty)}: give a file for it, or more texts")
    return TextData(table.name, seed, given, Parts(**found))


class TableTexts(TextStream[Example]):
    """Examples of a table, whatever its size; parts that are not given are drawn by a hash of the first column.

    Args:
        table: whose rows are made examples.
        kind: of the examples.
        columns: that are read.
        make: makes an example of a row.
        text: of an example.
        seed: of the draw.
        classes: of the rows, which each part then has alike.
    """

    held_out = 0.1

    def __init__(
        self,
        table: Table,
        kind: str,
        columns: Sequence[str],
        make: Make[Example],
        text: Callable[[Example], str],
        seed: int,
        classes: Any = None,
    ) -> None:
        files = {part: table.files[part] for part in table.sections}
        how = f"{kind} {columns} {table.fingerprint} parts of rows"
        super().__init__(files, self._of_files, text, seed, table.name, how)
        self.table, self.columns, self.make = table, columns, make
        if not self._missing():
            return
        hashes = table.hashes(columns[0])
        self._places = mix(hashes, seed) / np.float64(2**64)
        self._parts = np.zeros(len(table), np.int8)
        for part, rows in table.parts(hashes, seed, classes).items():
            self._parts[rows] = PARTS.index(part)

    def _drawn(self) -> Iterator[tuple[str, float, Example]]:
        if not self._missing():
            yield from super()._drawn()
            return
        for row, example in self._examples("train"):
            yield PARTS[self._parts[row]], float(self._places[row]), example

    def _of_files(self, paths: Sequence[Path]) -> Iterator[Example]:
        part = next(part for part, own in self.files.items() if own is paths)
        return (example for _, example in self._examples(part))

    def _examples(self, part: str) -> Iterator[tuple[int, Example]]:
        for row, cells in enumerate(self.table.records(self.columns, part), self.table.first(part)):
            if (example := self.make(row, cells)) is not None:
                yield row, example
