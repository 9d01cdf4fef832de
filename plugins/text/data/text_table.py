"""Texts of a table: with a label each, with a label for each word, with their translation, or alone."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from zoo import ConfigError, DataError, ModelSpec
from zoo.data import (
    BatchedCorpus,
    Parts,
    Role,
    Table,
    check_complete,
    choose_columns,
    draw_parts,
    hash_names,
    read_classes,
)
from zoo.plugins.text.data.file_readers import Sentence
from zoo.plugins.text.data.labelled_corpus import Labelled, LabelledCorpus, TaggedCorpus
from zoo.plugins.text.data.language_model_corpus import Line, LinesCorpus, MaskedCorpus
from zoo.plugins.text.data.open_files import LARGE, TextData, packs
from zoo.plugins.text.data.parallel_corpus import Pair, ParallelCorpus
from zoo.plugins.text.data.text_files import text_size
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
    encoder sentences of `tokens` and `tags`, else `text` and `label`, else (also with `task=masked-token`, or where
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

    def read(first: int, rows: Iterator[tuple[Any, ...]]) -> Iterator[Labelled]:
        return (
            Labelled(text, labels[codes[row]], f"{table.name} row {row}") for row, (text,) in enumerate(rows, first)
        )

    data = _data(table, "labelled", [columns["text"]], read, lambda each: each.text, seed, codes)
    chosen = data.tokenizer(tokenizer, lambda each: (each.text,))
    return LabelledCorpus(data.about(f"texts with {len(labels)} labels", chosen), spec, chosen, data.parts, labels)


def _tagged(table: Table, spec: ModelSpec, seed: int, tokenizer: str) -> TaggedCorpus:
    required = [Role(role.name, role.kinds, role.usual) for role in (TOKENS, TAGS)]
    columns = list(choose_columns(table, *required).values())
    for column in columns:
        check_complete(table, column)

    def read(first: int, rows: Iterator[tuple[Any, ...]]) -> Iterator[Sentence]:
        names = table.class_names(columns[1], first)
        for row, (words, tags) in enumerate(rows, first):
            place = f"{table.name} row {row}"
            if len(words) != len(tags) or not words:
                raise DataError(f"{place}: {len(words)} tokens and {len(tags)} tags: each token has one")
            yield Sentence(tuple(words), tuple(names[tag] if names else str(tag) for tag in tags), place)

    data = _data(table, "tagged", columns, read, lambda each: " ".join(each.words), seed)
    labels = data.labels(lambda each: each.tags)
    chosen = data.tokenizer(tokenizer, lambda each: (" ".join(each.words),))
    about = data.about(f"sentences with {len(labels)} labels of words", chosen)
    return TaggedCorpus(about, spec, chosen, data.parts, labels)


def _pairs(table: Table, spec: ModelSpec, seed: int, tokenizer: str) -> ParallelCorpus:
    columns = list(choose_columns(table, SOURCE, TARGET, options=("units",)).values())

    def read(first: int, rows: Iterator[tuple[Any, ...]]) -> Iterator[Pair]:
        for row, texts in enumerate(rows, first):
            for side, text in zip(("source", "target"), texts, strict=True):
                if not (text or "").strip():
                    raise DataError(f"{table.name} row {row}: the {side} is empty")
            source, target = texts
            yield Pair(source, target, f"{table.name} row {row}")

    data = _data(table, "pairs", columns, read, lambda each: each.source, seed)
    chosen = data.tokenizer(tokenizer, lambda each: each[:2])
    units = table.options.get("units", "13a")
    return ParallelCorpus(data.about("pairs of texts", chosen), spec, chosen, data.parts, units=units)


def _lines(table: Table, spec: ModelSpec, seed: int, tokenizer: str) -> LinesCorpus | MaskedCorpus:
    column = choose_columns(table, TEXT, LABEL, options=("pack",))["text"]

    def read(first: int, rows: Iterator[tuple[Any, ...]]) -> Iterator[Line]:
        return (
            Line(text, f"{table.name} row {row}") for row, (text,) in enumerate(rows, first) if (text or "").strip()
        )

    data = _data(table, "lines", [column], read, lambda each: each.text, seed)
    chosen = data.tokenizer(tokenizer, lambda each: (each.text,))
    if spec.reads == "encoder":
        return MaskedCorpus(data.about("texts", chosen), spec, chosen, data.parts)
    pack = packs(table.options.get("pack", ""), spec, isinstance(data.parts, TextStream))
    return LinesCorpus(data.about("texts", chosen, *(["pack"] if pack else [])), spec, chosen, data.parts, pack)


Read = Callable[[int, Iterator[tuple[Any, ...]]], Iterator[Example]]
"""Makes examples of cells, from the number of their first row."""


def _data(
    table: Table,
    kind: str,
    columns: Sequence[str],
    read: Read[Example],
    text: Callable[[Example], str],
    seed: int,
    classes: Any = None,
) -> TextData[Example]:
    """Give the examples of a table, in memory or streamed where they are large; parts are drawn by their texts."""
    given = len(table.sections) > 1
    if sum(map(text_size, table.files.values())) >= LARGE:

        def stream(paths: Sequence[Path]) -> Iterator[Example]:
            part = next(part for part, own in table.files.items() if own is paths)
            return read(table.first(part), table.records(columns, part))

        how = f"{kind} {columns} {table.fingerprint}"
        return TextData(table.name, seed, given, TextStream(table.files, stream, text, seed, table.name, how))
    found = {part: list(read(table.first(part), table.records(columns, part))) for part in table.sections}
    every = [each for examples in found.values() for each in examples]
    hashes = hash_names(text(each).encode(errors="surrogatepass") for each in every)
    parts = draw_parts({part: len(examples) for part, examples in found.items()}, hashes, seed, table.name, classes)
    return TextData(table.name, seed, given, Parts(*([every[row] for row in rows] for rows in parts.values())))
