from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from zoo.bench.grid import results_store
from zoo.bench.grid.results_store import Store, key_of
from zoo.errors import DataError
from zoo.version import __version__


def test_a_result_is_there_after_a_restart(tmp_path: Path) -> None:
    Store(tmp_path).add("k", {"seed": 0}, {"accuracy": 0.5})
    store = Store(tmp_path)
    assert store.succeeded("k")
    assert store.records["k"]["accuracy"] == 0.5


def test_without_a_result_there_is_no_file(
    tmp_path: Path, limited_file_size: Callable[[int], AbstractContextManager[None]]
) -> None:
    store = Store(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with limited_file_size(10), pytest.raises(DataError, match="a result cannot be written"):
        store.add("a", {}, {"score": 1})
    assert list(tmp_path.iterdir()) == []
    store.path.touch()  # of an earlier version
    assert Store(tmp_path).records == {}
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_failed_for_its_own_cause_is_settled(tmp_path: Path) -> None:
    Store(tmp_path).add("k", {}, {"error": "the loss is nan"})
    store = Store(tmp_path)
    assert store.settled("k")
    assert not store.succeeded("k")


def test_a_run_that_the_machine_failed_is_not_settled(tmp_path: Path) -> None:
    Store(tmp_path).add("k", {}, {"error": "no memory", "transient": True})
    store = Store(tmp_path)
    assert not store.settled("k")
    assert not store.settled("another")


def test_a_half_written_last_line_is_cut_with_a_message(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add("a", {}, {})
    with store.path.open("a") as file:
        file.write('{"version": 1, "key": "b"')
    again = Store(tmp_path)
    assert "the last line was half written (25 bytes) and was removed; that run is repeated" in again.message
    assert list(again.records) == ["a"]
    again.add("b", {}, {})
    assert list(Store(tmp_path).records) == ["a", "b"]


def test_results_of_another_version_are_refused(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text('{"version": 99, "key": "a"}\n')
    with pytest.raises(DataError, match=r"results version 99, this is version 1; .* choose another --out"):
        Store(tmp_path)


@pytest.mark.parametrize(
    "line",
    [b"hello", b"\xff\xfe", b"[]", b'{"version": 1}', b'{"version": 1, "key": "a"}', b'{"version": 1, "key": {}}'],
)
def test_something_else_is_refused(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "results.jsonl").write_bytes(line + b"\n")
    with pytest.raises(DataError, match="line 1, is not a result"):
        Store(tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"cannot write results to .*file/out: Not a directory; choose another"):
        Store(tmp_path / "file" / "out")


def test_a_key_depends_on_content_not_on_order() -> None:
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1}) != key_of({"a": 1, "b": 3})


def test_results_from_before_threads_were_part_of_the_key_are_found_by_those_they_were_made_with(
    tmp_path: Path,
) -> None:
    configs = [{"seed": seed} for seed in range(4)]
    results: list[dict[str, Any]] = [{"threads": 1}, {"threads": 2}, {}, {"threads": "many"}]
    for config, told in zip(configs, results, strict=True):
        Store(tmp_path).add(key_of(config), config, told)
    store = Store(tmp_path)
    assert [store.settled(key_of(config)) for config in configs] == [True, False, True, True]
    assert store.settled(key_of({"seed": 1}, 2))
    assert key_of({"seed": 1}) == key_of({"seed": 1}, 1) != key_of({"seed": 1}, 2)


def test_on_a_full_disk_a_result_is_whole_or_not_there(
    tmp_path: Path, limited_file_size: Callable[[int], AbstractContextManager[None]]
) -> None:
    store = Store(tmp_path)
    store.add("a", {}, {"score": 1})
    before = store.path.read_bytes()
    with limited_file_size(len(before) + 10):
        with pytest.raises(DataError, match=r"a result cannot be written: .*\. The 1 before it are safe: make room"):
            store.add("b", {}, {"score": 2})
        with pytest.raises(DataError, match="File too large"), limited_file_size(len(before)):
            store.add("b", {}, {"score": 2})
    assert store.path.read_bytes() == before
    assert list(store.records) == ["a"]


def test_results_of_other_folders_are_read_and_not_written(tmp_path: Path) -> None:
    one, other = Store(tmp_path / "1"), Store(tmp_path / "2")
    one.add("a", {}, {"score": 1})
    other.add("a", {}, {"error": "no memory", "transient": True})
    other.add("b", {}, {"score": 2})
    with other.path.open("a") as file:
        file.write('{"version": 1, "key": "c"')  # is being written
    content = other.path.read_bytes()
    store = Store(tmp_path, [tmp_path / "1", tmp_path / "2", tmp_path / "not begun"])
    assert {key: record["score"] for key, record in store.records.items()} == {"a": 1, "b": 2}
    store.add("c", {}, {"score": 3})
    assert other.path.read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "results.jsonl"]


def test_folders_of_two_versions_of_the_package_are_refused_and_both_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(tmp_path / "1").add("a", {}, {"score": 1})
    monkeypatch.setattr(results_store, "__version__", "9.9")
    Store(tmp_path / "2").add("b", {}, {"score": 1})
    Store(tmp_path / "2", [tmp_path / "3"])
    with pytest.raises(DataError, match=rf"1/results.jsonl was written by zoo {__version__}, .*2/.* by zoo 9.9: "):
        Store(tmp_path, [tmp_path / "1", tmp_path / "2"])
