"""A file is read once: by any number of workers alike, on from an interruption, and again when it changes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo.data import cache_folder
from zoo.errors import DataError
from zoo.plugins.graph.data.storage import graph_file as module
from zoo.plugins.graph.data.storage.graph_files import LinesFile
from zoo.plugins.graph.data.storage.graph_store import GraphStore

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK", 4)
    monkeypatch.setattr(module, "_DURABLE", 1)


def some(folder: Path, count: int = 30) -> Path:
    rows = [
        json.dumps({"edges": [[0, n]], "x": [[n]] * (n + 1), "target": n}) if n % 7 else "{" for n in range(1, count)
    ]
    path = folder / "some.jsonl"
    path.write_text("\n".join(rows))
    return path


def assert_same(one: GraphStore, other: GraphStore) -> None:
    assert one.about == other.about
    for name, array in one.arrays.items():
        assert array.dtype == other.arrays[name].dtype
        assert np.array_equal(array, other.arrays[name])


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_read_what_one_process_reads(workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = some(tmp_path)
    stores = []
    for number in (0, workers):
        monkeypatch.setattr(module, "default_workers", lambda number=number, **_: number)
        monkeypatch.setenv("ZOO_CACHE", str(tmp_path / str(number)))
        stores.append(LinesFile(path).opened())
    assert_same(*stores)
    assert stores[0].arrays["lines"].tolist() == [n for n in range(1, 30) if n % 7]
    assert stores[0].about["rows"] == 29
    assert [each[0] for each in stores[0].about["named"]] == ["line 7", "line 14", "line 21", "line 28"]


def test_what_was_read_before_an_interruption_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, interrupts = some(tmp_path), [True]
    read: list[Any] = []
    monkeypatch.setattr(module, "default_workers", lambda **_: 0)

    class Interrupted(LinesFile):
        def read(self, row: Any) -> Any:
            read.append(row)
            if len(read) == 14 and interrupts:
                raise KeyboardInterrupt
            return super().read(row)

    with pytest.raises(KeyboardInterrupt):
        Interrupted(path).opened()
    read.clear()
    interrupts.clear()
    store = Interrupted(path).opened()
    assert len(read) == 29 - 12  # of the 13 rows that were read, three chunks were whole
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "other"))
    assert_same(store, LinesFile(path).opened())


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = some(tmp_path)

    class Changing(LinesFile):
        def rows(self) -> Iterator[tuple[int, Any]]:
            yield from super().rows()
            path.write_text("{}\n")

    with pytest.raises(DataError, match=r"some.jsonl' was changed while it was read: open it again"):
        Changing(path).opened()
    with pytest.raises(DataError, match="was changed"):  # nothing half is taken for whole
        Changing(some(tmp_path)).opened()


def test_features_of_other_numbers_are_found_in_another_chunk(tmp_path: Path) -> None:
    path = some(tmp_path)
    path.write_text(path.read_text() + "\n" + json.dumps({"edges": [], "x": [[1, 2]], "target": 1}))
    with pytest.raises(DataError, match=r"nodes have \[1, 2\] features, edges \[0\]: give all graphs as many"):
        LinesFile(path).opened()


def test_why_rows_cannot_be_read_is_kept_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_NAMED", 6)
    path = tmp_path / "bad.jsonl"
    path.write_text("{\n" * 20)
    about = LinesFile(path).opened().about
    assert (about["rows"], len(about["named"])) == (20, 6)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none.jsonl' cannot be read"):
        LinesFile(tmp_path / "none.jsonl")


def test_another_reader_reads_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = some(tmp_path)
    first = LinesFile(path).opened().folder
    monkeypatch.setattr(LinesFile, "reader", "a later version")
    assert LinesFile(path).opened().folder != first
    assert len(list((cache_folder() / "graphs").glob("*/state.json"))) == 2
