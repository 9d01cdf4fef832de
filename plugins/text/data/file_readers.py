"""Reading the user's texts: tables, parallel files, CoNLL columns and plain lines, with errors that name the line."""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from zoo import DataError

PARTS = {"train": ("train",), "validation": ("validation", "valid", "dev", "val"), "test": ("test",)}
"""The parts of a folder, and the names their files may have."""
_TABLES = (".tsv", ".csv", ".jsonl")
_HEADINGS = {"text", "sentence", "label", "labels", "category", "source", "target", "src", "tgt", "input", "output"}
"""Words of which, where a first line holds nothing else, it is a header."""


class Row(NamedTuple):
    """Hold the texts of one line, and where it is."""

    values: tuple[str, ...]
    place: str


class Sentence(NamedTuple):
    """Hold words and their labels, and where they are."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    place: str


def locate(place: str, languages: Sequence[str] = ()) -> dict[str, tuple[Path, ...]]:
    """Find the files: one, or two with a comma between, for `train` alone; or those of each part of a folder.

    Args:
        place: a path, or two.
        languages: endings of the two files of each part, where a folder has such.

    Raises:
        DataError: If there is no such file, or the folder does not say which is which.
    """
    path = Path(place).expanduser()
    if path.is_dir():
        return _locate_parts(path, languages)
    paths = (path,) if path.exists() or "," not in place else tuple(Path(one).expanduser() for one in place.split(","))
    for one in paths:
        if not one.is_file():
            raise DataError(f"there is no file {str(one)!r}")
    return {"train": paths}


def _locate_parts(folder: Path, languages: Sequence[str]) -> dict[str, tuple[Path, ...]]:
    found = {}
    for part, stems in PARTS.items():
        files = sorted(file for file in folder.iterdir() if file.is_file() and file.name.split(".")[0] in stems)
        if languages and not any(file.suffix in _TABLES for file in files):
            files = [file for language in languages for file in files if file.suffix == f".{language}"]
        if len(files) > max(1, len(languages)):
            names = ", ".join(file.name for file in files)
            raise DataError(f"{folder} has several files for {part}: {names}; give one, or name two languages")
        if files:
            found[part] = tuple(files)
    if "train" not in found:
        raise DataError(f"{folder} has no file for training, such as train.tsv")
    return found


def read_table(path: Path, keys: Sequence[str], options: Mapping[str, str]) -> list[Row]:
    """Read columns of a .tsv or .csv file, or keys of a .jsonl file.

    Args:
        path: of the file. A .csv has a header; a .tsv has none unless options name its columns.
        keys: what is wanted, and how the columns are called.
        options: other names of the columns, or their numbers from 1.

    Raises:
        DataError: If the ending is unknown, the file empty, or a line lacks something.
    """
    names = [options.get(key, key) for key in keys]
    ending = path.suffix.lower()
    if ending == ".jsonl":
        rows = list(_json_rows(path, names))
    elif ending == ".csv":
        rows = list(_header_rows(path, _csv_cells(path), keys, names))
    elif ending == ".tsv":
        cells = ((number, line.split("\t")) for number, line in lines(path) if line.strip())
        named = any(key in options and not options[key].isdigit() for key in keys)
        rows = list(_header_rows(path, cells, keys, names) if named else _tab_rows(path, cells, keys, options))
    else:
        raise DataError(
            f"{path}: a table ends in one of {', '.join(_TABLES)}, not {ending!r}; two files of lines are "
            "parallel:SOURCE,TARGET"
        )
    if not rows:
        raise DataError(f"{path} is empty: it has no examples")
    return rows


def read_side_by_side(one: Path, other: Path) -> list[Row]:
    """Read two files whose lines belong together; lines that are blank in both are nothing.

    Raises:
        DataError: If one has more lines than the other, or both have none.
    """
    left, right = ([line for _, line in lines(path)] for path in (one, other))
    if len(left) != len(right):
        longer, shorter = (one, other) if len(left) > len(right) else (other, one)
        raise DataError(
            f"{one} has {len(left)} lines, {other} has {len(right)}: line by line they belong together, and "
            f"{longer}:{min(len(left), len(right)) + 1} has no counterpart in {shorter}"
        )
    pairs = enumerate(zip(left, right, strict=True), 1)
    rows = [Row(pair, f"{one}:{number}") for number, pair in pairs if any(text.strip() for text in pair)]
    if not rows:
        raise DataError(f"{one} and {other} are empty: they have no examples")
    return rows


def read_columns(path: Path, options: Mapping[str, str]) -> list[Sentence]:
    """Read sentences in CoNLL columns: a word and its label in each line, a blank line between sentences.

    Args:
        path: of the file; of a .conllu file, words are in column 2 and labels in column 4 (universaldependencies.org).
        options: `token` and `tag`, numbers of the columns from 1; of another file, the first and the last without.

    Raises:
        DataError: If a line has too few columns, both are the same, or there is no sentence.
    """
    universal = path.suffix.lower() == ".conllu"
    token = _number(path, options, "token", 2 if universal else 1)
    tag = _number(path, options, "tag", 4) if universal or "tag" in options else None
    if token == tag:
        raise DataError(f"{path}: token and tag are both column {token}")
    needed = token + 1 if tag is None else max(token, tag)
    sentences: list[Sentence] = []
    words: list[tuple[str, str]] = []
    start = 1
    for number, line in [*lines(path), (0, "")]:
        if not line.strip():
            if words:
                sentences.append(Sentence(*_both(words), f"{path}:{start}"))
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
    if not sentences:
        raise DataError(f"{path} is empty: it has no sentences")
    return sentences


def read_lines(path: Path, options: Mapping[str, str]) -> list[Row]:
    """Read a text from each line that is not blank, or from the key `text` of a .jsonl file.

    Raises:
        DataError: If there is none.
    """
    if path.suffix.lower() == ".jsonl":
        return read_table(path, ("text",), options)
    rows = [Row((line,), f"{path}:{number}") for number, line in lines(path) if line.strip()]
    if not rows:
        raise DataError(f"{path} is empty: it has no lines of text")
    return rows


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Give the lines of a file with their numbers, from 1.

    Raises:
        DataError: If the file cannot be read, or a line is no UTF-8.
    """
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                if number == 1:
                    raw = raw.removeprefix(b"\xef\xbb\xbf")
                yield number, raw.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}:{number}: no UTF-8, {error.reason} at byte {error.start} of the line") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}") from error


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


def _json_rows(path: Path, names: Sequence[str]) -> Iterator[Row]:
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
            if not isinstance(found[name], str):
                raise DataError(f"{path}:{number}: {name}={found[name]!r} is no text")
        yield Row(tuple(found[name] for name in names), f"{path}:{number}")


def _number(path: Path, options: Mapping[str, str], key: str, default: int) -> int:
    text = options.get(key, str(default))
    if not text.isdigit() or text == "0":
        raise DataError(f"{path}: {key}={text!r} is no number of a column, from 1")
    return int(text)


def _both(words: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(word for word, _ in words), tuple(tag for _, tag in words)


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"
