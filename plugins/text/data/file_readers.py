"""Rows of the user's files: tables, parallel files, CoNLL columns and plain lines, with errors that name the line."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from zoo import DataError
from zoo.plugins.text.data.text_files import TABLES, ending, lines

_HEADINGS = {"text", "sentence", "label", "labels", "category", "source", "target", "src", "tgt", "input", "output"}
"""Words of which, where a first line holds nothing else, it is a header."""


UNIT = "\x1f"
"""ASCII's unit separator: stands between the labels of a list."""
_TEXTS = ("text", "source", "target")
"""Keys whose values are texts; all others are labels."""
Example = TypeVar("Example")


class Row(NamedTuple):
    """Hold the texts of one line, and where it is."""

    values: tuple[str, ...]
    place: str


class Sentence(NamedTuple):
    """Hold words and their labels, and where they are."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    place: str


def read_table(path: Path, keys: Sequence[str], options: Mapping[str, str]) -> Iterator[Row]:
    """Read columns of a .tsv or .csv file, or keys of a .jsonl file, as rows are asked for.

    Args:
        path: of the file. A .csv has a header; a .tsv has none unless options name its columns.
        keys: what is wanted, and how the columns are called.
        options: other names of the columns, or their numbers from 1.

    Raises:
        DataError: If the ending is unknown, the file empty, or a line lacks something.
    """
    names = [options.get(key, key) for key in keys]
    kind = ending(path)
    if kind == ".jsonl":
        rows = _json_rows(path, names, keys)
    elif kind == ".csv":
        rows = _header_rows(path, _csv_cells(path), keys, names)
    elif kind == ".tsv":
        cells = ((number, line.split("\t")) for number, line in lines(path) if line.strip())
        named = any(key in options and not options[key].isdigit() for key in keys)
        rows = _header_rows(path, cells, keys, names) if named else _tab_rows(path, cells, keys, options)
    else:
        raise DataError(
            f"{path}: a table ends in one of {', '.join(TABLES)}, not {kind!r}; two files of lines are "
            "parallel:SOURCE,TARGET"
        )
    return _some(rows, f"{path} is empty: it has no examples")


def read_side_by_side(one: Path, other: Path) -> Iterator[Row]:
    """Read two files whose lines belong together, as rows are asked for; lines blank in both are nothing.

    Raises:
        DataError: If one has more lines than the other, or both have none.
    """
    return _some(_pairs_of_lines(one, other), f"{one} and {other} are empty: they have no examples")


def read_columns(path: Path, options: Mapping[str, str]) -> Iterator[Sentence]:
    """Read sentences in CoNLL columns: a word and its label in each line, a blank line between sentences.

    Args:
        path: of the file; of a .conllu file, words are in column 2 and labels in column 4 (universaldependencies.org).
        options: `token` and `tag`, numbers of the columns from 1; of another file, the first and the last without.

    Raises:
        DataError: If a line has too few columns, both are the same, or there is no sentence.
    """
    universal = ending(path) == ".conllu"
    token = _number(path, options, "token", 2 if universal else 1)
    tag = _number(path, options, "tag", 4) if universal or "tag" in options else None
    if token == tag:
        raise DataError(f"{path}: token and tag are both column {token}")
    sentences = _column_rows(path, token, tag, universal)
    return _some(sentences, f"{path} is empty: it has no sentences")


def read_lines(path: Path, options: Mapping[str, str]) -> Iterator[Row]:
    """Read a text from each line that is not blank, or from the key `text` of a .jsonl file, as rows are asked for.

    Raises:
        DataError: If there is none.
    """
    if ending(path) == ".jsonl":
        return read_table(path, ("text",), options)
    rows = (Row((line,), f"{path}:{number}") for number, line in lines(path) if line and not line.isspace())
    return _some(rows, f"{path} is empty: it has no lines of text")


def _some(rows: Iterable[Example], otherwise: str) -> Iterator[Example]:
    """Give rows, of which there has to be one."""
    empty = True
    for row in rows:
        empty = False
        yield row
    if empty:
        raise DataError(otherwise)


def _pairs_of_lines(one: Path, other: Path) -> Iterator[Row]:
    counts = [0, 0]
    for pair in zip_longest(lines(one), lines(other)):
        texts = []
        for side, line in enumerate(pair):
            counts[side] += line is not None
            texts.append("" if line is None else line[1])
        if counts[0] == counts[1] and any(text.strip() for text in texts):
            yield Row(tuple(texts), f"{one}:{counts[0]}")
    if counts[0] != counts[1]:
        longer, shorter = (one, other) if counts[0] > counts[1] else (other, one)
        raise DataError(
            f"{one} has {counts[0]} lines, {other} has {counts[1]}: line by line they belong together, and "
            f"{longer}:{min(counts) + 1} has no counterpart in {shorter}"
        )


def _column_rows(path: Path, token: int, tag: int | None, universal: bool) -> Iterator[Sentence]:
    needed = token + 1 if tag is None else max(token, tag)
    words: list[tuple[str, str]] = []
    start = 1
    for number, line in chain(lines(path), [(0, "")]):
        if not line.strip():
            if words:
                yield Sentence(*_both(words), f"{path}:{start}")
            words = []
            continue
        if line.startswith("-DOCSTART-"):
            continue
        cells = line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))
        if universal and not cells[0].isdigit():  # comments, and words that stand for several or for none
            continue
        if len(cells) < needed:
            raise DataError(f"{path}:{number}: {_columns(len(cells))}, {needed} wanted: word … label")
        start = start if words else number
        words.append((cells[token - 1], cells[-1 if tag is None else tag - 1]))


def _tab_rows(
    path: Path, cells: Iterator[tuple[int, list[str]]], keys: Sequence[str], options: Mapping[str, str]
) -> Iterator[Row]:
    at = [_number(path, options, key, place) - 1 for place, key in enumerate(keys, 1)]
    wanted = "<TAB>".join(keys)
    for number, row in cells:
        if number == 1 and not options and len(row) > 1 and {cell.strip().lower() for cell in row} <= _HEADINGS:
            names = "&".join(f"{key}={cell}" for key, cell in zip(keys, row, strict=False))
            numbers = "&".join(f"{key}={place + 1}" for key, place in zip(keys, at, strict=True))
            raise DataError(
                f"{path}:1: {'<TAB>'.join(row)} reads like a header, and a .tsv has none: name its columns, as in "
                f"{path.name}?{names}, or take the line out; if it is an example, write {path.name}?{numbers}"
            )
        if len(row) <= max(at) or (len(row) > len(keys) and not options):
            extra = "; name columns by number, such as ?" + "&".join(f"{key}={i}" for i, key in enumerate(keys, 1))
            hint = extra if len(row) > len(keys) else ""
            raise DataError(f"{path}:{number}: {_columns(len(row))}, {wanted} wanted{hint}")
        yield Row(tuple(row[place] for place in at), f"{path}:{number}")


def _csv_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader((line + "\n" for _, line in lines(path)), strict=True)
    start = 1
    try:
        for row in reader:
            if row:
                yield reader.line_num, [cell.removesuffix("\n") for cell in row]
            start = reader.line_num + 1
    except csv.Error as error:
        if "expected after" in str(error):
            raise DataError(f"{path}:{reader.line_num}: {error}; a quote within quotes is written twice") from error
        raise DataError(  # the file ended, or a cell has grown longer than any may be
            f"{path}:{start}: a quote is opened in the row that begins here and not closed by line {reader.line_num} "
            f"({error})"
        ) from error


def _header_rows(
    path: Path, cells: Iterator[tuple[int, list[str]]], keys: Sequence[str], names: Sequence[str]
) -> Iterator[Row]:
    header = next(cells, (0, names))[1]
    missing = [name for name in names if name not in header]
    if missing:
        named = "&".join(f"{key}=NAME" for key in keys)
        raise DataError(
            f"{path}:1: the header has {', '.join(header)}, no {' and no '.join(missing)}: the first line names the "
            f"columns; where they are called otherwise, write {path.name}?{named}"
        )
    at = [header.index(name) for name in names]
    for number, row in cells:
        if len(row) != len(header):
            raise DataError(f"{path}:{number}: {_columns(len(row))}, the header has {len(header)}")
        yield Row(tuple(row[place] for place in at), f"{path}:{number}")


def _json_rows(path: Path, names: Sequence[str], keys: Sequence[str]) -> Iterator[Row]:
    for number, line in lines(path):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError as error:
            raise DataError(f"{path}:{number}: no JSON: {error}") from error
        if not isinstance(found, dict):
            raise DataError(f"{path}:{number}: no JSON object with {' and '.join(names)}")
        for name in names:
            if name not in found:
                raise DataError(f"{path}:{number}: no {name!r} among {', '.join(found) or 'no keys'}")
        place = f"{path}:{number}"
        values = (_json_text(found[name], f"{place}: {name}", key) for name, key in zip(names, keys, strict=True))
        yield Row(tuple(values), place)


def _json_text(value: Any, where: str, key: str) -> str:
    """Give a text; the name of a label, which may be a whole number; or a list of labels, `UNIT` before each."""
    if key not in (*_TEXTS, "label", "labels") and (value is None or isinstance(value, float)):
        return "" if value is None else str(value)  # a column of one label
    if key not in _TEXTS and isinstance(value, int):
        return str(value)
    if key == "labels" and isinstance(value, list) and all(isinstance(label, str | int) for label in value):
        return UNIT + UNIT.join(map(str, value))
    if not isinstance(value, str):
        what = "label: labels are names or whole numbers, one for each text" if key == "label" else "text"
        raise DataError(f"{where}={value!r} is no {what}")
    return value


def _number(path: Path, options: Mapping[str, str], key: str, default: int) -> int:
    text = options.get(key, str(default))
    if not text.isdigit() or text == "0":
        raise DataError(f"{path}: {key}={text!r} is no number of a column, from 1")
    return int(text)


def _both(words: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(word for word, _ in words), tuple(tag for _, tag in words)


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"
