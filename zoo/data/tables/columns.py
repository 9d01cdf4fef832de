"""`TableColumns`: the cells of a table's columns by the examples of each split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zoo.data.tables.kinds import CLASS, INTEGER, NUMBER, TEXT
from zoo.data.tables.table import Table


@dataclass(frozen=True)
class TableColumns:
    """Columns of a table, see `zoo.data.items.Columns`.

    Args:
        table: whose rows the examples are.
        rows: of the examples of each split, in their order.
    """

    table: Table
    rows: Mapping[str, Sequence[int]]

    @property
    def names(self) -> Sequence[str]:
        """Name the columns that hold numbers, classes or texts, by which examples can be told apart."""
        return [name for name, kind in self.table.kinds.items() if kind in (NUMBER, INTEGER, CLASS, TEXT)]

    def values(self, name: str, split: str) -> Sequence[Any]:
        """Give the cell of each example of a split; classes by their names."""
        cells = [self.table.cell(name, int(row)) for row in self.rows[split]]
        if not cells or not (names := self.table.class_names(name, int(self.rows[split][0]))):
            return cells
        return [names[cell] if isinstance(cell, int) and cell >= 0 else cell for cell in cells]
