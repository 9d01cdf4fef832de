import gzip
from pathlib import Path
from typing import Any

import pytest

import zoo
from zoo import DataError
from zoo.data import Table
from zoo.data.corpus import open_corpus
from zoo.data.tables.sources.open_files import open_csv, open_parquet

SPLITS = ["Train", "dev", "test", "train", "val", "train"]
ROWS = list("abcdef")


def values(table: Table) -> dict[str, list[Any]]:
    return {part: list(table.values("x", part)) for part in table.sections}


def test_a_column_tells_the_part_of_each_row(parquet: Any, tmp_path: Path) -> None:
    table = open_parquet(f"{parquet('a.parquet', x=ROWS, fold=SPLITS)}?split=fold", 0)
    wanted = {"train": ["a", "d", "f"], "validation": ["b", "e"], "test": ["c"]}
    assert values(table) == wanted
    assert table.kinds == {"x": "text"}
    assert sum(path.stat().st_size for paths in table.files.values() for path in paths) > 0
    rows = "".join(f"{x},{split}\n" for x, split in zip(ROWS, SPLITS, strict=True))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(f"x,fold\n{rows}".encode()))
    assert values(open_csv(f"{tmp_path}/a.csv.gz?split=fold", 0)) == wanted


def test_a_column_of_classes_tells_it_by_their_names(parquet: Any) -> None:
    import datasets

    features = {"x": datasets.Value("string"), "fold": datasets.ClassLabel(names=["test", "train"])}
    table = open_parquet(f"{parquet('a.parquet', features, x=ROWS, fold=[0, 1] * 3)}?split=fold", 0)
    assert values(table) == {"train": ["b", "d", "f"], "test": ["a", "c", "e"]}


def test_a_table_is_another_where_another_column_parts_it(parquet: Any) -> None:
    path = parquet("a.parquet", x=ROWS, one=SPLITS, two=SPLITS[::-1])
    one, two = (open_parquet(f"{path}?split={column}", 0) for column in ("one", "two"))
    assert one.fingerprint != two.fingerprint != open_parquet(str(path), 0).fingerprint
    assert values(one) != values(two)


@pytest.mark.parametrize(
    ("splits", "error"),
    [
        (["train", "tset"] * 3, r"column 'fold' holds 'tset' in 3 rows, such as 1, 3, 5: parts are train, validation"),
        (["train", None] * 3, r"column 'fold' holds None in 3 rows"),
        (["test"] * 6, r"column 'fold' has no row for training, such as 'train'"),
        ([1, 2] * 3, r"column 'fold' holds 1 in 3 rows, such as 0, 2, 4"),
    ],
)
def test_a_column_that_names_no_parts_is_an_error(parquet: Any, splits: list[Any], error: str) -> None:
    path = parquet("a.parquet", x=ROWS, fold=splits)
    with pytest.raises(DataError, match=error):
        open_parquet(f"{path}?split=fold", 0)
    with pytest.raises(DataError, match="has no column 'split' for split; it has x, fold"):
        open_parquet(f"{path}?split=split", 0)


def test_a_column_and_files_for_parts_are_too_much(parquet: Any, tmp_path: Path) -> None:
    for part in ("train", "test"):
        parquet(f"data/{part}.parquet", x=ROWS, fold=SPLITS)
    with pytest.raises(DataError, match=r"\?split=fold and files of train and test: give one of the two"):
        open_parquet(f"{tmp_path}/data/*.parquet?split=fold", 0)


def test_molecules_have_the_parts_of_their_table(tmp_path: Path) -> None:
    splits = ["train"] * 8 + ["valid"] * 3 + ["test"] * 4
    rows = "".join(f"{'C' * (1 + place)},{place},{split}\n" for place, split in enumerate(splits))
    (tmp_path / "mols.csv.gz").write_bytes(gzip.compress(f"smiles,y,split\n{rows}".encode()))
    corpus = open_corpus(f"csv:{tmp_path}/mols.csv.gz?target=y&split=split", zoo.info("graph-tiny"))
    assert corpus.sizes == {"train": 8, "validation": 3, "test": 4}
