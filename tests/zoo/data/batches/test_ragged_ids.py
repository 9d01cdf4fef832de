"""Rows of ids of unequal lengths, in memory and in files."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from zoo.data.batches.ragged_ids import RaggedIds, RaggedWriter, offsets_of

IDS = [[3, 1], [], [7, 7, 2**31 - 1]]


def written(folder: Path, *parts: list[list[int]]) -> RaggedIds:
    with RaggedWriter(folder, np.dtype(np.int32)) as writer:
        for part in parts:
            writer.add(RaggedIds(part))
    return RaggedIds.mapped(folder)


def listed(rows: RaggedIds) -> list[list[int]]:
    return [rows[place] for place in range(len(rows))]


def test_rows_come_back_as_they_were_given() -> None:
    rows = RaggedIds(IDS)
    assert listed(rows) == IDS
    assert rows[-1] == IDS[-1]
    assert rows.lengths.tolist() == [2, 0, 3]
    with pytest.raises(IndexError):
        rows[3]


def test_no_row_is_no_row(tmp_path: Path) -> None:
    assert list(RaggedIds([]).flat) == []
    assert not RaggedIds([])
    assert listed(written(tmp_path / "rows", [], [])) == []
    assert listed(written(tmp_path / "empty", [[], []])) == [[], []]


def test_what_was_written_is_mapped_and_sent_as_a_path(tmp_path: Path) -> None:
    rows = written(tmp_path / "rows", IDS, IDS[:1])
    assert listed(rows) == [*IDS, IDS[0]]
    assert isinstance(rows.flat, np.memmap)
    sent = pickle.dumps(rows)
    assert len(sent) < 400
    assert listed(pickle.loads(sent)) == listed(rows)
    assert listed(pickle.loads(pickle.dumps(RaggedIds(IDS)))) == IDS


def test_a_writer_goes_on_behind_what_is_kept(tmp_path: Path) -> None:
    written(tmp_path / "rows", IDS, IDS)
    with RaggedWriter(tmp_path / "rows", np.dtype(np.int32), rows=1, ids=2) as writer:
        writer.add(RaggedIds([[9]]))
    assert listed(RaggedIds.mapped(tmp_path / "rows")) == [IDS[0], [9]]


def test_lengths_are_right_behind_offsets_of_more_than_31_bits() -> None:
    offsets = np.array([2**31 - 5, 2**31 + 5, 2**32 + 1, 2**32 + 1])
    assert RaggedIds.of(np.zeros(0, np.uint16), offsets).lengths.tolist() == [10, 2**31 - 4, 0]


def test_offsets_are_where_rows_begin_and_the_last_ends() -> None:
    assert offsets_of(np.array([2, 0, 3])).tolist() == [0, 2, 2, 5]
