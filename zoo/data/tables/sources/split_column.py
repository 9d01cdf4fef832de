"""Parts that a column of a table tells: the option `?split=COLUMN`."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from zoo.data.cache import cached_file
from zoo.data.splits import fingerprint
from zoo.data.tables.sources.files import NAMES
from zoo.data.tables.table import PARTS, shown_rows
from zoo.errors import DataError


def split_by_column(name: str, sections: Mapping[str, Any], column: str, key: str) -> dict[str, Path]:
    """Write the rows of each part that a column names into an Arrow file of its own, without the column, once.

    Args:
        name: of the data, for errors.
        sections: rows, all for training.
        column: holds `train`, `validation` (`valid`, `val`, `dev`) or `test`, in any case.
        key: of the files in the cache.

    Returns: the file of each part that has rows.

    Raises:
        DataError: If files tell parts too, there is no such column, or it holds something else.
    """
    rows = sections["train"]
    if len(sections) > 1:
        raise DataError(f"{name}: ?split={column} and files of {' and '.join(sections)}: give one of the two")
    if column not in rows.column_names:
        raise DataError(f"{name} has no column {column!r} for split; it has {', '.join(rows.column_names)}")
    told = _parts(name, rows, column)
    if "train" not in told:
        raise DataError(f"{name}: column {column!r} has no row for training, such as 'train'")
    return {
        part: cached_file(f"{key}/{fingerprint([column])}-{part}.arrow", partial(_write, rows, column, values))
        for part, values in told.items()
    }


def _parts(name: str, rows: Any, column: str) -> dict[str, list[Any]]:
    """Give the values of the column that name each part.

    Raises:
        DataError: If one names none.
    """
    import numpy as np
    import pyarrow.compute as pc

    cells = rows.data.column(column)
    names = list(getattr(rows.features[column], "names", ()))
    parts = {known: part for part, those in NAMES.items() for known in those}
    told: dict[str, list[Any]] = {}
    for value in pc.unique(cells).to_pylist():
        text = str(names[value] if names and isinstance(value, int) and value >= 0 else value)
        part = parts.get(text.strip().lower(), "")
        if not part:
            where = np.flatnonzero(np.asarray(cells.is_null() if value is None else pc.equal(cells, value)))
            raise DataError(
                f"{name}: column {column!r} holds {value!r} in {shown_rows(where)}: parts are {', '.join(PARTS)}"
            )
        told.setdefault(part, []).append(value)
    return {part: told[part] for part in PARTS if part in told}


def _write(rows: Any, column: str, values: list[Any], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc
    from datasets import Features

    features = Features({name: feature for name, feature in rows.features.items() if name != column})
    with pa.ipc.new_stream(str(path), features.arrow_schema) as file:
        for batch in rows.data.to_batches():
            some = batch.filter(pc.is_in(batch.column(column), pa.array(values, batch.schema.field(column).type)))
            file.write_table(pa.Table.from_batches([some]).select(list(features)).cast(features.arrow_schema))
