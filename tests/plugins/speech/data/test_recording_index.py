"""The index of recordings: what is listed, headers that are read once, parts by hash."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo import DataError
from zoo.plugins.speech.data import recording_index
from zoo.plugins.speech.data.manifest import Recording
from zoo.plugins.speech.data.recording_index import RecordingIndex

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _offline(offline: None) -> None:
    """Keep the cache apart."""


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Name the files whose headers are read."""
    names: list[str] = []
    measure = recording_index.measure_audio  # type: ignore[attr-defined]

    def note(opened: Callable[[int], Path], rows: np.ndarray) -> object:
        names.extend(opened(row).name for row in rows.tolist())
        return measure(opened, rows)

    monkeypatch.setattr(recording_index, "measure_audio", note)
    return names


def test_an_index_tells_what_is_listed(write: Write, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    short = write("b/short.wav", seconds=0.01)
    listed = [Recording(write("a.wav"), "x", None, "test", "ann"), Recording(short, None, "said so")]
    index = RecordingIndex.of(listed)
    for one in (index, pickle.loads(pickle.dumps(index))):
        assert [one.opened(row) for row in range(2)] == [each.path for each in listed]
        assert one.lengths.tolist() == [3_200, 0]
        assert [one.cell("label", row) for row in range(2)] == ["x", None]
        assert [one.cell("text", row) for row in range(2)] == [None, "said so"]
        assert "shorter than one frame" in (one.cell("why", 1) or "")
    assert not index.lengths.flags.owndata  # in the pages of the file


def test_names_that_are_not_utf8_are_opened(write: Write, tmp_path: Path) -> None:
    path = write("a.wav").rename(tmp_path / os.fsdecode(b"\xff.wav"))
    index = RecordingIndex.of([Recording(path, "x")])
    assert index.lengths.tolist() == [3_200]
    assert index.opened(0) == path


def test_a_header_is_read_again_only_where_its_file_has_changed(write: Write, measured: list[str]) -> None:
    listed = [Recording(write(f"{number}.wav"), "x") for number in range(4)]
    before = RecordingIndex.of(listed[:3])
    assert sorted(measured) == ["0.wav", "1.wav", "2.wav"]
    assert RecordingIndex.of(listed[:3]).fingerprint == before.fingerprint
    assert len(measured) == 3
    os.utime(listed[1].path, ns=(1, 1))
    write("2.wav", seconds=0.5)
    after = RecordingIndex.of(listed)
    assert sorted(measured[3:]) == ["1.wav", "2.wav", "3.wav"]
    assert after.fingerprint != before.fingerprint
    assert after.lengths.tolist() == [3_200, 3_200, 8_000, 3_200]


def test_a_label_a_text_or_a_part_that_changes_is_noticed(write: Write) -> None:
    one = Recording(write("a.wav"), "x", "text", "train", "ann")
    changes: tuple[Any, ...] = ({"label": "y"}, {"text": "another"}, {"part": "test"}, {"speaker": "bob"})
    found = {RecordingIndex.of([one._replace(**change)]).fingerprint for change in ({}, *changes)}
    assert len(found) == 5


def test_parts_are_given_or_drawn_by_the_speaker(write: Write) -> None:
    listed = [Recording(write(f"{n}.wav"), "xy"[n % 2], None, "test" * (n < 4), f"s{n // 2}") for n in range(40)]
    index = RecordingIndex.of(listed)
    parts = index.parts("some", np.arange(40), 0)
    assert parts["test"].tolist() == [0, 1, 2, 3]
    assert sorted(np.concatenate([*parts.values()])) == list(range(40))
    speakers = [{listed[row].speaker for row in rows} for rows in parts.values()]
    assert sum(map(len, speakers)) == len(set.union(*speakers))
    with pytest.raises(DataError, match="no recording that can be read is for training"):
        index.parts("some", np.arange(4), 0)
    with pytest.raises(DataError, match="2 examples, of which 1 differ; training and validation and test need one"):
        index.parts("some", np.arange(4, 6), 0)
