"""Label sets: any number of labels for each example, in a column of 0 and 1 for each label, or all in one column."""

from collections.abc import Mapping, Sequence

from zoo.errors import DataError

_RIGHT = {"1": 1, "1.0": 1, "true": 1, "yes": 1, "0": 0, "0.0": 0, "false": 0, "no": 0, "": None, "-1": None}
"""What a cell says; Jigsaw's test has -1 where nobody gave a label."""


def label_columns(options: Mapping[str, str]) -> tuple[str, ...]:
    """Give the names of the label columns, `?labels=A,B,C`; none where one column holds all labels.

    Raises:
        DataError: If there is one, a name twice, or a separator besides.
    """
    if "labels" not in options:
        return ()
    names = tuple(name.strip() for name in options["labels"].split(","))
    if "separator" in options or "label" in options:
        raise DataError(
            f"labels={options['labels']!r} names a column of 0 and 1 for each label, and separator= or label= the one "
            "column that holds all labels: give one of the two"
        )
    if len(names) < 2 or not all(names) or len(set(names)) < len(names):
        raise DataError(
            f"labels={options['labels']!r}: two or more different columns are wanted, with commas between; for one "
            "column of labels write label=COLUMN"
        )
    return names


def separator_of(options: Mapping[str, str]) -> str:
    """Give what stands between the labels of a column, `?separator=,`.

    Raises:
        DataError: If it is empty.
    """
    found = options.get("separator", ",")
    if not found:
        raise DataError("separator='' splits nothing: write what stands between labels, as separator=,")
    return found


def label_flag(cell: object, where: str) -> int | None:
    """Read a cell of a label column: 1 for right, 0 for not, None where nobody knows.

    Raises:
        DataError: If it holds something else.
    """
    told = "" if cell is None else str(cell).strip().lower()
    if told not in _RIGHT:
        raise DataError(f"{where}={cell!r}: a column of a label holds 1 or 0, or nothing if unknown")
    return _RIGHT[told]


def split_labels(cell: object, separator: str) -> tuple[str, ...]:
    """Give the labels of a cell, each once: those of a list, or the parts of a text; none of an empty one."""
    given: Sequence[object] = () if cell is None else cell if isinstance(cell, list) else str(cell).split(separator)
    return tuple(dict.fromkeys(label for each in given if (label := str(each).strip())))
