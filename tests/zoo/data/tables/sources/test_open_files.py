import gzip
import pickle
from pathlib import Path
from typing import Any

import pytest

from zoo import DataError
from zoo.data import Table
from zoo.data.tables.sources.open_files import open_csv, open_jsonl, open_parquet


def rows_of(table: Table) -> list[tuple[Any, ...]]:
    return [row for part in table.sections for row in table.records(list(table.kinds), part)]


def test_a_csv_with_bom_quotes_and_newlines_in_cells_is_read_as_it_is_meant(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes('\ufefftext,label\n"a, ""b""\nnew",x\n\nNA,01\n'.encode())
    table = open_csv(f"{tmp_path}/a.csv", 0)
    assert table.kinds == {"text": "text", "label": "text"}
    assert rows_of(table) == [('a, "b"\nnew', "x"), ("NA", "01")]


def test_tsv_and_compressed_tables_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(b"text\tlabel\na,b\tx\n"))
    assert rows_of(open_csv(f"{tmp_path}/a.tsv.gz", 0)) == [("a,b", "x")]


def test_pandas_and_pyarrow_take_broken_csv_for_good_which_is_why_neither_reads_it(tmp_path: Path) -> None:
    import datasets
    from pyarrow import csv

    path = tmp_path / "short.csv"
    path.write_text("text,label\na,x\nb\n")
    found = datasets.load_dataset("csv", data_files=str(path), split="train", cache_dir=str(tmp_path / "hf"))
    assert len(found) == 2
    with pytest.raises(DataError, match=r"short\.csv:3: the row has 1 cell, the header 2"):
        open_csv(str(path), 0)
    path = tmp_path / "quote.csv"
    path.write_text('text,label\na,"x\nb,c\n')
    assert csv.read_csv(path, parse_options=csv.ParseOptions(newlines_in_values=True)).num_rows == 1
    with pytest.raises(DataError, match=r"quote\.csv:2: .* is a quote not closed"):
        open_csv(str(path), 0)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", "has no header of different names: its first line is"),
        (b"a,a\n1,2\n", "has no header of different names"),
        (b"a,b\n", "is empty: it has no rows"),
        (b"a\n\xff\n", "cannot be read"),
    ],
)
def test_a_csv_without_header_rows_or_utf8_is_an_error(tmp_path: Path, content: bytes, error: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError, match=error):
        open_csv(f"{tmp_path}/a.csv", 0)


def test_json_lines_keep_the_types_and_entries_of_structures_are_columns(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"x": {"en": "a", "de": "b"}, "y": [1.5], "z": true}\n' * 2)
    assert open_jsonl(f"{tmp_path}/a.jsonl", 0).kinds == {
        "x.en": "text",
        "x.de": "text",
        "y": "list of number",
        "z": "integer",
    }
    (tmp_path / "a.jsonl").write_text('{"x": 1}\nnone\n')
    with pytest.raises(DataError, match=r"jsonl:.*a\.jsonl cannot be read: JSON parse error"):
        open_jsonl(f"{tmp_path}/a.jsonl", 0)


def test_sentences_of_the_type_of_translations_are_columns(parquet: Any, tmp_path: Path) -> None:
    import datasets

    types = {"translation": datasets.Translation(("de", "en"))}
    parquet("a.parquet", types, translation=[{"de": "drei", "en": "three"}])
    assert open_parquet(f"{tmp_path}/a.parquet", 0).kinds == {"translation.de": "text", "translation.en": "text"}


def test_shards_of_different_columns_are_named(parquet: Any, tmp_path: Path) -> None:
    parquet("0.parquet", a=[1], b=["x"])
    parquet("1.parquet", a=[1], c=["x"])
    with pytest.raises(DataError, match=r"1\.parquet' has columns a, c, and '.*0\.parquet' a, b"):
        open_parquet(f"{tmp_path}/*.parquet", 0)
    (tmp_path / "2.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"2\.parquet' cannot be read"):
        open_parquet(f"{tmp_path}/2.parquet", 0)
    (tmp_path / "0.csv").write_text("a,b\n1,2\n")
    (tmp_path / "1.csv").write_text("b,a\n2,1\n")
    assert rows_of(open_csv(f"{tmp_path}/*.csv", 0)) == [("1", "2"), ("1", "2")]
    (tmp_path / "2.csv").write_text("a,c\n1,2\n")
    with pytest.raises(DataError, match=r"2\.csv' has columns a, c, and '.*0\.csv' a, b"):
        open_csv(f"{tmp_path}/*.csv", 0)


def test_a_table_is_small_where_it_is_sent_and_the_same(parquet: Any) -> None:
    path = parquet("a.parquet", x=["word" * 100] * 1000)
    table = open_parquet(str(path), 0)
    sent = pickle.dumps(table)
    assert len(sent) < 10_000
    assert pickle.loads(sent).cell("x", 999) == "word" * 100


def test_a_file_that_changes_is_converted_again(parquet: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    before = open_csv(f"{tmp_path}/a.csv", 0)
    (tmp_path / "a.csv").write_text("a\n22\n")
    after = open_csv(f"{tmp_path}/a.csv", 0)
    assert rows_of(after) == [("22",)]
    assert after.fingerprint != before.fingerprint
