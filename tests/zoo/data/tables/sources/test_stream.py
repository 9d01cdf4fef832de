import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zoo import DataError
from zoo.data.cache import cache_folder
from zoo.data.tables.sources import stream as streams
from zoo.data.tables.sources.hub import open_hf
from zoo.data.tables.sources.stream import TableStream

Write = Callable[..., Path]
ROWS = [f"text {number}" for number in range(50)]


@pytest.fixture
def folder(parquet: Any, tmp_path: Path) -> Path:
    """Make a repository of two shards for training and one for the test."""
    parquet("repo/train-00000-of-00002.parquet", x=ROWS[:20])
    parquet("repo/train-00001-of-00002.parquet", x=ROWS[20:])
    parquet("repo/test.parquet", x=["a", "b", "c"])
    return tmp_path / "repo"


def opened(folder: Path, options: str = "buffer=8") -> TableStream:
    found = open_hf(f"{folder}?streaming&{options}", 0)
    assert isinstance(found, TableStream)
    return found


def rows(stream: TableStream, number: int) -> list[str]:
    return list(stream.table(number, ()).values("x", "train"))


def again() -> None:
    """Forget what this process has open, as another process would."""
    streams._READERS.clear()


def test_windows_hold_the_rows_in_their_order(folder: Path) -> None:
    stream = opened(folder)
    assert len(stream) == 50
    assert [*stream.first().values("x", "train")] == ROWS[:8]
    assert [*stream.first().values("x", "test")] == ["a", "b", "c"]
    assert [row for number in range(7) for row in rows(stream, number)] == ROWS


def test_a_stream_is_read_once_and_not_beyond_the_window(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []
    reader = streams._Reader

    def note(*given: Any) -> Any:
        begun.append(given[-1])
        return reader(*given)

    monkeypatch.setattr(streams, "_Reader", note)
    stream = opened(folder)
    for number in (0, 1, 1, 2, 3, 2):
        assert rows(stream, number) == ROWS[8 * number : 8 * number + 8]
    assert begun == [0]


@pytest.mark.parametrize("number", [1, 3, 5])
def test_another_process_goes_on_where_a_window_ended(
    folder: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for before in range(number):
        rows(opened(folder), before)
    again()
    written: list[int] = []
    write = streams._Reader.write

    def note(reader: Any) -> None:
        written.append(reader.next)
        write(reader)

    monkeypatch.setattr(streams._Reader, "write", note)
    assert rows(opened(folder), number) == ROWS[8 * number : 8 * number + 8]
    assert written == [number]


def test_without_the_cache_a_window_is_the_same(folder: Path) -> None:
    last = rows(opened(folder), 6)
    again()
    shutil.rmtree(cache_folder() / "streams")
    assert rows(opened(folder), 6) == last == ROWS[48:]
    assert rows(opened(folder), 1) == ROWS[8:16]


def test_few_windows_stay_in_the_cache(folder: Path) -> None:
    stream = opened(folder, "buffer=4")
    for number in range(12):
        rows(stream, number)
    kept = {int(path.stem.rpartition("-")[2]) for path in (cache_folder() / "streams").rglob("train-*.arrow")}
    assert kept == {0, 8, 9, 10, 11}


def test_what_cannot_be_streamed_is_named(folder: Path) -> None:
    for options, error in (
        ("buffer=0", "buffer='0' is no number of examples"),
        ("examples=many", "examples='many' is no number of examples"),
        ("split=train[:5]", r"'train\[:5\]' is a slice, and a stream has none: leave \?streaming away"),
        ("split=more", "there is no split 'more' for split; it has train, test"),
    ):
        with pytest.raises(DataError, match=error):
            opened(folder, options)
    short = opened(folder, "buffer=8&examples=100")
    with pytest.raises(DataError, match=r"the stream ended before window 7: has it changed\?"):
        rows(short, 7)


def test_a_stream_is_another_where_a_file_or_an_option_is(folder: Path, parquet: Any) -> None:
    before = opened(folder).fingerprint
    assert opened(folder).fingerprint == before != opened(folder, "buffer=9").fingerprint
    parquet("repo/train-00001-of-00002.parquet", x=ROWS[21:])
    assert opened(folder).fingerprint != before


def test_lines_of_json_are_streamed(tmp_path: Path, offline: None) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo/train.jsonl").write_text("\n".join(json.dumps({"x": row}) for row in ROWS))
    assert rows(opened(tmp_path / "repo"), 2) == ROWS[16:24]
