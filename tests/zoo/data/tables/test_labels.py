from pathlib import Path
from typing import Any

import pytest

from zoo import DataError
from zoo.data import check_complete, read_classes
from zoo.data.tables.sources.open_files import open_csv, open_parquet


def features(*names: str) -> Any:
    import datasets

    return {"y": datasets.ClassLabel(names=names)}


def test_classes_are_taken_by_name_where_a_part_has_them_in_another_order(parquet: Any, tmp_path: Path) -> None:
    parquet("train.parquet", features("cat", "dog"), y=[0, 1, 0, 1])
    parquet("test.parquet", features("dog", "cat"), y=[0, 1])
    table, codes, names = read_classes(open_parquet(f"{tmp_path}/*.parquet", 0), "y")
    assert names == ["cat", "dog"]
    assert codes.tolist() == [0, 1, 0, 1, 1, 0]
    assert len(table) == 6


def test_shards_of_one_part_with_classes_in_another_order_are_refused(parquet: Any, tmp_path: Path) -> None:
    parquet("0.parquet", features("cat", "dog"), y=[0, 1])
    parquet("1.parquet", features("dog", "cat"), y=[0, 1])
    with pytest.raises(DataError, match=r"1\.parquet' has its classes in another order than '.*0\.parquet'"):
        open_parquet(f"{tmp_path}/*.parquet", 0)


def test_whole_numbers_are_ordered_by_size_and_names_by_letters(parquet: Any, tmp_path: Path) -> None:
    path = parquet("a.parquet", y=[10, 9, 10, 9])
    assert read_classes(open_parquet(str(path), 0), "y")[1:][1] == ["9", "10"]
    (tmp_path / "a.csv").write_text("y\n10\n9\n10\n9\n")
    _, codes, names = read_classes(open_csv(f"{tmp_path}/a.csv", 0), "y")
    assert (codes.tolist(), names) == ([1, 0, 1, 0], ["9", "10"])


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ([0.5, 1.0, 0.5], r"column 'y' holds number, such as 0\.5; a label is a name or a whole number"),
        ([[1], [0], [1]], r"column 'y' holds list of integer, such as \[1\]"),
        (["a", None, "b", "a", "b"], r"column 'y' has no label in 1 row, such as 1"),
        ([None, None], r"column 'y' has no labels at all"),
        (["a", "a"], r"has 1 label \(a\): at least 2 are needed"),
    ],
)
def test_labels_that_are_fractions_lists_missing_or_one_are_errors(parquet: Any, values: Any, error: str) -> None:
    table = open_parquet(str(parquet("a.parquet", y=values)), 0)
    with pytest.raises(DataError, match=error):
        read_classes(table, "y")


def test_a_test_whose_labels_are_kept_back_is_left_out_with_a_warning(parquet: Any, tmp_path: Path) -> None:
    parquet("train.parquet", features("cat", "dog"), y=[0, 1, 0, 1])
    parquet("test.parquet", features("cat", "dog"), y=[-1, -1])
    table = open_parquet(f"{tmp_path}/*.parquet", 0)
    with pytest.warns(UserWarning, match="the labels of its test are kept back"):
        table, codes, _ = read_classes(table, "y")
    assert (len(table), len(codes)) == (4, 4)


def test_a_label_of_the_test_that_is_not_learned_is_an_error(parquet: Any, tmp_path: Path) -> None:
    parquet("train.parquet", y=["a", "b", "a", "b"])
    parquet("test.parquet", y=["c"])
    with pytest.raises(DataError, match=r"label c of test are in no training example, which have a, b"):
        read_classes(open_parquet(f"{tmp_path}/*.parquet", 0), "y")


def test_empty_cells_are_counted(parquet: Any) -> None:
    table = open_parquet(str(parquet("a.parquet", x=["a", None, "b", None])), 0)
    with pytest.raises(DataError, match=r"column 'x' is empty in 2 rows, such as 1, 3"):
        check_complete(table, "x")
