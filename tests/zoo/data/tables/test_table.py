from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo import DataError
from zoo.data import Table, draw_parts, hash_names
from zoo.data.tables.sources.open_files import open_csv, open_parquet


def test_rows_are_numbered_through_all_parts(parquet: Any, tmp_path: Path) -> None:
    for part, values in (("train", ["a", "b"]), ("test", ["c"])):
        parquet(f"{part}.parquet", x=values)
    table = open_parquet(f"{tmp_path}/*.parquet", 0)
    assert [table.cell("x", row) for row in range(3)] == ["a", "b", "c"] == list(table.values("x"))
    assert table.given.tolist() == [0, 0, 2]
    assert [table.first("train"), table.first("test")] == [0, 2]
    assert list(table.records(["x", "x"], "test")) == [("c", "c")]
    assert len(table.without("test")) == 2


def test_a_part_that_is_given_without_rows_is_an_error(tmp_path: Path) -> None:
    for name, rows in (("a", "1\n2\n"), ("none", "")):
        (tmp_path / f"{name}.csv").write_text(f"x\n{rows}")
    with pytest.raises(DataError, match="validation has no rows; leave it out, and validation is drawn from"):
        open_csv(f"{tmp_path}/a.csv?validation={tmp_path}/none.csv", 0)
    with pytest.raises(DataError, match=r"train has no rows$"):
        open_csv(f"{tmp_path}/none.csv?validation={tmp_path}/a.csv", 0)


def test_a_growing_table_keeps_its_parts() -> None:
    names = [str(place).encode() for place in range(300)]
    few = draw_parts({"train": 200}, hash_names(names[:200]), 0, "x")
    many = draw_parts({"train": 300}, hash_names(names), 0, "x")
    for part in few:
        assert set(few[part]) == {place for place in many[part] if place < 200}
    other = draw_parts({"train": 300}, hash_names(names), 1, "x")
    assert set(other["test"]) != set(many["test"])
    assert sorted(np.concatenate(list(many.values()))) == list(range(300))


def test_parts_that_are_given_stay_and_the_others_are_drawn_from_training() -> None:
    hashes = hash_names(str(place).encode() for place in range(60))
    parts = draw_parts({"train": 50, "test": 10}, hashes, 0, "x")
    assert parts["test"].tolist() == list(range(50, 60))
    assert sorted([*parts["train"], *parts["validation"]]) == list(range(50))
    assert len(parts["validation"])


@pytest.mark.parametrize("classes", [None, np.arange(40) // 20])
def test_examples_of_one_hash_are_in_one_part(classes: Any) -> None:
    names = [str(place // 4).encode() for place in range(40)]
    parts = draw_parts({"train": 40}, hash_names(names), 0, "x", classes)
    found = [{names[place] for place in places} for places in parts.values()]
    assert sum(map(len, found)) == len(set.union(*found)) == 10
    assert all(found)


def test_too_few_examples_are_an_error() -> None:
    with pytest.raises(DataError, match=r"x has 2 different examples to learn from, of which some are drawn for"):
        draw_parts({"train": 4}, hash_names([b"a", b"b", b"a", b"b"]), 0, "x")


def test_a_file_is_the_bytes_of_a_cell_or_the_path_it_names(parquet: Any, tmp_path: Path) -> None:
    path = parquet(
        "a.parquet", x=[b"one"], y=[{"bytes": b"two", "path": "p/two.png"}], z=[{"bytes": None, "path": "q"}]
    )
    table = open_parquet(str(path), 0)
    assert table.file("x", 0).read() == b"one"
    two = table.file("y", 0)
    assert isinstance(two, BytesIO)
    assert (two.read(), str(two)) == (b"two", "row 0 (p/two.png)")
    assert table.file("z", 0) == tmp_path / "q"


def test_files_that_are_not_there_are_counted_and_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("path\nb.png\nc.png\na.csv\n")
    table = open_csv(f"{tmp_path}/a.csv", 0)
    with pytest.raises(DataError, match=r"2 of 3 files that column 'path' names are not there: row 0 \(b.png\), row 1"):
        table.file_stats("path")
    (tmp_path / "b.png").write_text("12")
    (tmp_path / "c.png").write_text("123")
    sizes, times = table.file_stats("path")
    assert sizes.tolist()[:2] == [2, 3]
    assert times[0] == (tmp_path / "b.png").stat().st_mtime_ns


def test_pictures_are_known_by_their_paths_but_by_their_bytes_where_a_path_is_there_twice(parquet: Any) -> None:
    import datasets

    def hashes(name: str, *cells: tuple[bytes, str]) -> list[int]:
        images = [{"bytes": content, "path": path} for content, path in cells]
        path = parquet(name, {"x": datasets.Image(decode=False)}, x=images)
        return open_parquet(str(path), 0).hashes("x").tolist()

    assert hashes("1.parquet", (b"a", "p"), (b"a", "q")) == hashes("2.parquet", (b"b", "p"), (b"c", "q"))
    same = hashes("3.parquet", (b"a", "p"), (b"b", "p"), (b"a", "p"))
    assert same[0] == same[2] != same[1]
    assert (
        hashes("4.parquet", (b"a", "p"), (b"a", "q"), (b"b", "q"))[0]
        == hashes("1.parquet", (b"a", "p"), (b"a", "q"))[0]
    )


def test_bytes_are_hashed_once(parquet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = parquet("a.parquet", x=[b"a", b"b"])
    before = open_parquet(str(path), 0).hashes("x")
    monkeypatch.setattr(Table, "values", lambda *given: pytest.fail("is read again"))
    assert open_parquet(str(path), 0).hashes("x").tolist() == before.tolist()
