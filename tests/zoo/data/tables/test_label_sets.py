from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo.data import read_label_sets
from zoo.data.tables.sources.open_files import open_csv, open_parquet
from zoo.errors import DataError

COLUMNS = "text,toxic,insult\na,1,1\nb,0,0\nc,1,0\nd,0,\ne,1,1\n"


@pytest.fixture
def labelled(tmp_path: Path) -> str:
    (tmp_path / "a.csv").write_text(COLUMNS)
    return str(tmp_path / "a.csv")


def test_columns_of_0_and_1_become_a_set_for_each_row(labelled: str) -> None:
    names, codes, sets = read_label_sets(open_csv(f"{labelled}?labels=insult,toxic", 0))
    assert names == ("insult", "toxic")
    rows = [[1, 1], [0, 0], [0, 1], [np.nan, 0], [1, 1]]
    np.testing.assert_array_equal(sets[codes], rows)
    assert len(sets) == 4


def test_rows_that_are_unknown_alike_are_one_set(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,toxic,insult\n" + "a,1,1\nb,1,\n" * 9)
    _, codes, sets = read_label_sets(open_csv(f"{tmp_path}/a.csv?labels=toxic,insult", 0))
    assert len(sets) == 2
    assert sorted(np.isnan(sets).sum(1)) == [0, 1]
    assert np.bincount(codes).tolist() == [9, 9]


def test_one_column_is_split(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,tags\na,x;y\nb,\nc,y\nd,x\n")
    names, codes, sets = read_label_sets(open_csv(f"{tmp_path}/a.csv?separator=;", 0), "tags")
    assert names == ("x", "y")
    assert sets[codes].tolist() == [[1, 1], [0, 0], [0, 1], [1, 0]]


def test_lists_of_names_are_labels(tmp_path: Path, parquet: Any) -> None:
    import datasets

    classes = datasets.Sequence(datasets.ClassLabel(names=["red", "blue"]))
    parquet("a.parquet", {"text": datasets.Value("string"), "labels": classes}, text=["a", "b"], labels=[[1, 0], [1]])
    names, codes, sets = read_label_sets(open_parquet(f"{tmp_path}/a.parquet", 0), "labels")
    assert names == ("red", "blue")
    assert sets[codes].tolist() == [[1, 1], [0, 1]]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("labels=toxic,rude", "no column 'rude'"),
        ("labels=toxic,text", "row 0: text='a'"),
        ("labels=a,a", "two or more"),
    ],
)
def test_columns_that_are_no_labels(labelled: str, options: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_label_sets(open_csv(f"{labelled}?{options}", 0))


def test_a_label_that_no_training_row_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(COLUMNS.replace(",1,1", ",1,0"))
    with pytest.raises(DataError, match="label 'insult' is in no training row"):
        read_label_sets(open_csv(f"{tmp_path}/a.csv?labels=toxic,insult", 0))
