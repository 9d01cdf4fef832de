"""Molecules of a table: a column of SMILES, and columns of what is predicted."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoo import DataError, ModelSpec
from zoo.data import PARTS, Role, Table, TableColumns, cached_file, choose_columns, described, fingerprint
from zoo.plugins.graph.data.corpus import GraphsCorpus
from zoo.plugins.graph.data.storage.graph_files import TableFile
from zoo.plugins.graph.data.user_files import SPLITS, corpus_of

SMILES = Role("smiles", ("text",), ("smiles", "smile", "canonical_smiles", "molecule", "mol"))
NUMBERS = "list of number"
TARGETS = ("number", "integer", "class", NUMBERS)
"""Kinds of columns that are predicted where none is named."""


def open_table(table: Table, spec: ModelSpec, seed: int, tokenizer: str) -> GraphsCorpus:
    """Make a corpus of the column `smiles` and of targets: those of `?target=A,B`, else all numbers and classes.

    Columns of numbers are predicted as they are, those of 0, 1 or nothing as labels, one of names as classes; a list is
    several numbers. Parts that are not given are drawn by scaffolds, with `?draw=random` one by one.

    Raises:
        DataError: If a column cannot be chosen, or nothing is left.
        MissingLibraryError: If RDKit is not installed.
    """
    smiles = choose_columns(table, SMILES, options=("target", "draw"))["smiles"]
    draw = table.options.get("draw", SPLITS[0])
    if draw not in SPLITS:
        raise DataError(f"{table.name}: draw={draw!r} is not one of {', '.join(SPLITS)}")
    targets = _targets(table, smiles)
    widths = {name: _width(table, name) for name in targets}
    columns = [one for name in targets for one in _names(name, widths[name])]
    key = fingerprint([table.fingerprint, smiles, *columns])
    file = cached_file(f"tables/molecules-{key}.csv", lambda path: _write(table, smiles, widths, columns, path))
    corpus = corpus_of(
        table.name,
        TableFile(file, ","),
        columns,
        [],
        draw,
        spec,
        seed,
        lambda line: PARTS[table.given[line - 2]],
        table.option("draw", "random"),
    )
    corpus.columns = TableColumns(table, {split: _rows(part) for split, part in corpus.parts.items()})
    return corpus


def _rows(part: Any) -> list[int]:
    """Give the row of each molecule: those of the file, behind its header, are those of the table."""
    rows: list[int] = (part.store.arrays["lines"][part.places] - 2).tolist()
    return rows


def _targets(table: Table, smiles: str) -> list[str]:
    if wanted := [name for name in table.options.get("target", "").split(",") if name]:
        missing = [name for name in wanted if name not in table.kinds or name == smiles]
        if missing:
            raise DataError(f"{table.name} has columns {described(table)}, and no target {', '.join(missing)}")
        return wanted
    found = [name for name, kind in table.kinds.items() if kind in TARGETS and name != smiles]
    if not found:
        raise DataError(f"{table.name} has columns {described(table)}: {table.advice('target')}")
    return found


def _width(table: Table, column: str) -> int:
    """Count the numbers of a list; 0 for a column of single values.

    Raises:
        DataError: If lists are not all as long, or the column holds what cannot be predicted.
    """
    if table.kinds[column] in (*TARGETS, "text") and table.kinds[column] != NUMBERS:
        return 0
    if table.kinds[column] != NUMBERS:
        raise DataError(f"{table.name}: column {column!r} holds {table.kinds[column]}, which is no target")
    widths = {len(value) for value in table.values(column) if value is not None}
    if len(widths) != 1:
        raise DataError(f"{table.name}: lists in column {column!r} have {sorted(widths)} numbers: give all as many")
    return widths.pop()


def _names(column: str, width: int) -> list[str]:
    return [f"{column} {place}" for place in range(width)] if width else [column]


def _write(table: Table, smiles: str, widths: dict[str, int], columns: list[str], path: Path) -> None:
    """Write the molecules as a file that is read in parallel, one in each line, all parts in a row."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", *columns])
        for part in table.sections:
            names = {column: table.class_names(column, table.first(part)) for column in widths}
            for text, *values in table.records([smiles, *widths], part):
                cells = (
                    cell
                    for value, column in zip(values, widths, strict=True)
                    for cell in _cells(value, widths[column], names[column])
                )
                writer.writerow([" ".join((text or "").split()), *cells])


def _cells(value: Any, width: int, names: list[str]) -> Iterator[str]:
    """Give the cells of a value; of none, empty ones."""
    for each in value if width and value is not None else [value] * max(1, width):
        if each is None or (names and each < 0):
            yield ""
        elif names:
            yield " ".join(names[each].split())
        else:
            yield str(int(each)) if isinstance(each, bool) else " ".join(str(each).split())
