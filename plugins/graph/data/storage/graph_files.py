"""The files of graphs that are read: lines of JSON, and tables of molecules."""

import csv
import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np

from zoo import DataError, InputError
from zoo.plugins.graph.data.storage.graph_file import GraphFile, Numbered, StoredRow
from zoo.plugins.graph.io.json_lines import example_of_line
from zoo.plugins.graph.io.smiles import of_molecule, parsed
from zoo.plugins.graph.requirements import RDKIT
from zoo.registry import require

_MOST_ATOMS = 2**16


class LinesFile(GraphFile):
    """Graphs in lines of JSON; the text of each is its target, `{"label": …}` or as it is called."""

    def rows(self) -> Iterator[Numbered]:
        """Give the lines that are not empty."""
        with _decoding(self.path) as file:
            yield from ((number, line) for number, line in enumerate(file, start=1) if line.strip())

    def read(self, row: Any) -> StoredRow:
        """Read a line."""
        graph, key, target = example_of_line(row)
        name = row.strip()
        return StoredRow(graph, name, name, json.dumps({key: target}, ensure_ascii=False))


class TableFile(GraphFile):
    """Molecules in a table with a column `smiles`; the text of each is the list of its other cells.

    Args:
        path: of the file.
        comma: what stands between columns.

    Raises:
        DataError: If there is no such column.
        MissingLibraryError: If RDKit is not installed.
    """

    kinds: ClassVar = {"x": np.uint8, "edges": np.uint16, "edge_attr": np.uint8}
    edge_features = 3

    def __init__(self, path: Path, comma: str) -> None:
        require("reading SMILES", (RDKIT,))
        from rdkit import __version__

        super().__init__(path)
        self.comma = comma
        self.reader = f"RDKit {__version__} {comma}"
        self.header = next(self._table(), (1, []))[1]
        names = [column.strip().lower() for column in self.header]
        if "smiles" not in names:
            raise DataError(f"{path.name} has columns {', '.join(self.header)}, and none is smiles")
        self.smiles = names.index("smiles")
        self.columns = [column for place, column in enumerate(self.header) if place != self.smiles]
        """Names of the others."""

    def rows(self) -> Iterator[Numbered]:
        """Give the rows below the header that are not empty."""
        rows = self._table()
        next(rows)
        yield from rows

    def read(self, row: Any) -> StoredRow:
        """Read a molecule; those of one scaffold are a group, and those without rings are the group of no name."""
        from rdkit.Chem import MolToSmiles
        from rdkit.Chem.Scaffolds.MurckoScaffold import GetScaffoldForMol

        cells = [*row, *[""] * len(self.header)][: len(self.header)]
        text = cells.pop(self.smiles)
        if not text:
            raise InputError("'' has no atoms")
        molecule = parsed(text)
        if not 0 < molecule.GetNumAtoms() < _MOST_ATOMS:
            raise InputError(f"{text!r} has {molecule.GetNumAtoms()} atoms: 1 to {_MOST_ATOMS - 1:,} can be stored")
        scaffold = MolToSmiles(GetScaffoldForMol(molecule), isomericSmiles=False)  # type: ignore[no-untyped-call]
        content = json.dumps([cell.strip() for cell in cells], ensure_ascii=False)
        return StoredRow(of_molecule(molecule, text), MolToSmiles(molecule), scaffold, content)

    def _table(self) -> Iterator[tuple[int, list[str]]]:
        with _decoding(self.path) as file:
            reader = csv.reader(file, delimiter=self.comma)
            try:
                yield from ((reader.line_num, row) for row in reader if row)
            except csv.Error as error:
                raise DataError(f"{str(self.path)!r}, line {reader.line_num}: {error}") from error


@contextmanager
def _decoding(path: Path) -> Iterator[IO[str]]:
    """Open a file of text; one that ends in .gz is decompressed.

    Raises:
        DataError: If it cannot be read, or is not UTF-8.
    """
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield file
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataError(f"{str(path)!r} cannot be read: {error}") from error
