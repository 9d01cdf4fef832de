from pathlib import Path
from typing import Any

import datasets
import pytest

from zoo import DataError
from zoo.data import Role, choose_columns
from zoo.data.tables.sources.open_files import open_parquet
from zoo.data.tables.table import Table

TEXT = Role("text", ("text",), ("text", "sentence"))
LABEL = Role("label", ("class", "integer", "text"), ("label",), optional=True, also=("class",))


@pytest.fixture
def choose(parquet: Any) -> Any:
    def chosen(options: str, *roles: Role, **columns: Any) -> dict[str, str]:
        return choose_columns(open_parquet(f"{parquet('a.parquet', **columns)}?{options}", 0), *roles)

    return chosen


def test_columns_are_chosen_by_usual_name_by_kind_alone_or_as_they_are_named(choose: Any) -> None:
    assert choose("", TEXT, LABEL, sentence=["a"], other=["b"]) == {"text": "sentence"}
    assert choose("", TEXT, LABEL, words=["a"], number=[1.5]) == {"text": "words"}
    assert choose("text=b", TEXT, LABEL, a=["a"], b=["b"]) == {"text": "b"}
    assert choose("class=text", TEXT, LABEL, a=["a"], text=["b"]) == {"text": "a", "label": "text"}
    assert choose("label=", TEXT, LABEL, text=["a"], label=["b"]) == {"text": "text"}


def test_a_column_of_a_structure_has_the_name_behind_the_point(choose: Any) -> None:
    assert choose("", TEXT, x=[{"sentence": "a", "id": "b"}]) == {"text": "x.sentence"}


def test_a_role_that_is_not_clear_names_the_columns_and_the_option(choose: Any) -> None:
    with pytest.raises(DataError, match=r"has columns a \(text\), b \(text\), and which one is text .* \?text=COLUMN"):
        choose("", TEXT, a=["a"], b=["b"])


def test_a_column_that_is_not_there_or_of_another_kind_is_an_error(choose: Any) -> None:
    with pytest.raises(DataError, match=r"has no column 'c' for text; it has a \(text\)"):
        choose("text=c", TEXT, a=["a"])
    with pytest.raises(DataError, match=r"column 'a' holds number, and label is class or integer or text"):
        choose("label=a", TEXT, LABEL, a=[0.5], text=["a"])


def test_an_option_that_no_role_has_is_an_error(choose: Any) -> None:
    with pytest.raises(DataError, match=r"\?imgae=x is not understood; options are text, label, class"):
        choose("imgae=x", TEXT, LABEL, text=["a"])


def test_what_a_program_gives_is_named_by_its_keyword() -> None:
    rows = datasets.Dataset.from_dict({"a": ["x"], "b": ["y"]})

    def table(**options: str) -> Table:
        return Table("frame", {"train": rows}, "0", Path(), options=options, from_python=True)

    with pytest.raises(DataError, match=r"is not clear: give columns=\{'text': 'COLUMN'\}$"):
        choose_columns(table(), TEXT)
    with pytest.raises(DataError, match=r"frame: columns=\{'imgae': 'a'\} is not understood; options are text"):
        choose_columns(table(imgae="a"), TEXT)
    assert table().advice("text", "label") == "give columns={'text': 'COLUMN'} or columns={'label': 'COLUMN'}"
