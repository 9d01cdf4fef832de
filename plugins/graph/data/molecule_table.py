"""Tables of molecules: a column `smiles`, and columns of targets."""

import csv
from collections.abc import Sequence
from typing import Any

from zoo import DataError, InputError
from zoo.data import Parts, Skipped, complete
from zoo.plugins.graph.data.rdkit_properties import Molecule, by_scaffold, molecules
from zoo.plugins.graph.io.json_lines import Row, finite, floats, named

SPLITS = ("scaffold", "random")


class Table:
    """Read a table of molecules.

    Args:
        name: of the file, for errors.
        text: its content.
        comma: what stands between columns.
        wanted: columns of the targets; all but the SMILES if empty.

    Raises:
        DataError: If a column is not there, or columns do not belong together.
        MissingLibraryError: If RDKit is not installed.
    """

    def __init__(self, name: str, text: str, comma: str, wanted: Sequence[str]) -> None:
        reader = csv.DictReader(text.splitlines(), delimiter=comma)
        columns = list(reader.fieldnames or [])
        smiles = {column.strip().lower(): column for column in columns}.get("smiles")
        if smiles is None:
            raise DataError(f"{name} has columns {', '.join(columns)}, and none is smiles")
        self.name = name
        self.wanted = list(wanted) or [column for column in columns if column != smiles]
        if not self.wanted or any(column not in columns for column in self.wanted):
            raise DataError(f"{name} has columns {', '.join(columns)}, and not all of target={','.join(self.wanted)}")
        table = list(reader)
        self.total = len(table)
        found, self.skipped = molecules([row[smiles] or "" for row in table])
        cells = [[(row[column] or "").strip() for column in self.wanted] for row in table]
        self.kind = _kind(name, [cells[each.row] for each in found])
        self.molecules: list[Molecule] = []
        self.answers: list[Any] = []
        for each in found:
            try:
                self.answers.append(_target(self.kind, cells[each.row]))
            except InputError as error:
                self.skipped.append(Skipped(each.smiles, str(error), each.row))
            else:
                self.molecules.append(each)

    def parts(self, split: str, seed: int) -> Parts[Row]:
        """Part the molecules by scaffolds, or by chance; those of equal SMILES stay together."""
        rows = {
            each.row: Row(each.smiles, each.graph, target)
            for each, target in zip(self.molecules, self.answers, strict=True)
        }
        if split == "random":
            return complete({"train": list(rows.values())}, lambda row: row.name, seed, self.name)
        return Parts(*([rows[each.row] for each in part] for part in by_scaffold(self.molecules, seed, self.name)))


def _kind(name: str, cells: Sequence[Sequence[str]]) -> str:
    """Tell what cells mean: labels where all are 0, 1 or empty; else numbers; else the classes of one column."""
    if all(cell in ("0", "1", "0.0", "1.0", "") for row in cells for cell in row):
        return "labels"
    try:
        for row in cells:
            floats(row)
    except InputError as error:
        if len(cells[0]) > 1:
            raise DataError(f"{name}: {error}; target=COLUMN names the column of targets") from error
        return "class"
    return "numbers"


def _target(kind: str, cells: Sequence[str]) -> Any:
    return named(cells[0]) if kind == "class" else finite(floats(cells))
