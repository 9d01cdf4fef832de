"""Columns of tables that are read line by line."""

import gzip
import json
from pathlib import Path

import zoo
from zoo.data.tables.line_columns import LineColumns


def test_cells_are_those_of_the_lines_also_where_a_cell_has_several(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('text,shop\n"one\ntwo",north\nthree,south\n')
    found = LineColumns.of_places({"test": [f"{path}:4", f"{path}:3"]})
    assert found is not None
    assert found.names == ["text", "shop"]
    assert found.values("shop", "test") == ["south", "north"]


def test_a_quotation_mark_in_tsv_is_a_letter(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('text\tshop\n"one\tnorth\ntwo\tsouth\n')
    found = LineColumns.of_places({"test": [f"{path}:2", f"{path}:3"]})
    assert found is not None
    assert found.values("shop", "test") == ["north", "south"]


def test_json_lines_may_be_packed_and_lack_a_key(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.write("\n".join(map(json.dumps, [{"text": "a", "year": 1999}, {"text": "b", "list": [1]}])))
    found = LineColumns.of_places({"test": [f"{path}:1", f"{path}:2"]})
    assert found is not None
    assert found.values("year", "test") == [1999, None]
    assert "list" not in found.names


def test_files_without_named_columns_have_none(tmp_path: Path) -> None:
    assert LineColumns.of_places({"test": [f"{tmp_path}/a.txt:1"]}) is None


def test_texts_of_a_file_know_their_columns(tmp_path: Path) -> None:
    rows = "\n".join(f"thing {i},{('bad', 'good')[i % 2]},{i % 2}" for i in range(30))
    (tmp_path / "reviews.csv").write_text(f"text,label,half\n{rows}\n")
    corpus = zoo.data.open_corpus(f"labelled:{tmp_path}/reviews.csv", zoo.info("bert-micro"), tokenizer="byte")
    columns = corpus.columns  # type: ignore[attr-defined]
    labels = [corpus.labels[place] for place in corpus.classes_of("test").tolist()]  # type: ignore[attr-defined]
    assert [("bad", "good")[int(half)] for half in columns.values("half", "test")] == labels
