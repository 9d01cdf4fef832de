from typing import Any

import pytest

from zoo.data import label_columns, label_flag, separator_of, split_labels
from zoo.errors import DataError


@pytest.mark.parametrize(
    ("cell", "told"), [("1", 1), (" 0", 0), (1, 1), (True, 1), (0.0, 0), ("", None), (None, None), (-1, None)]
)
def test_a_cell_is_right_or_not_or_unknown(cell: Any, told: int | None) -> None:
    assert label_flag(cell, "row 3: toxic") == told


@pytest.mark.parametrize("cell", ["maybe", 2, "0.4"])
def test_a_cell_that_is_no_label_is_named(cell: Any) -> None:
    with pytest.raises(DataError, match=r"row 3: toxic=.*holds 1 or 0"):
        label_flag(cell, "row 3: toxic")


def test_labels_are_split_and_each_is_taken_once() -> None:
    assert split_labels("b; a ;b;", ";") == ("b", "a")
    assert split_labels(["x", 2, "x"], ";") == ("x", "2")
    assert split_labels(None, ";") == split_labels("", ";") == ()


def test_columns_are_named_with_commas() -> None:
    assert label_columns({"labels": "toxic, insult"}) == ("toxic", "insult")
    assert label_columns({"label": "toxic"}) == ()


@pytest.mark.parametrize(
    "options", [{"labels": "toxic"}, {"labels": "a,a"}, {"labels": "a,"}, {"labels": "a,b", "separator": ";"}]
)
def test_columns_that_are_none(options: dict[str, str]) -> None:
    with pytest.raises(DataError, match=r"labels=.(a|toxic)"):
        label_columns(options)


def test_a_separator_is_a_comma_unless_given_and_not_empty() -> None:
    assert (separator_of({}), separator_of({"separator": "|"})) == (",", "|")
    with pytest.raises(DataError, match="splits nothing"):
        separator_of({"separator": ""})
