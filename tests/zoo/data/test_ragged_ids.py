"""Rows of ids of unequal lengths."""

from zoo.data.ragged_ids import RaggedIds

IDS = [[3, 1], [], [7, 7, 2**31 - 1]]


def test_rows_come_back_as_they_were_given() -> None:
    rows = RaggedIds(IDS)
    assert [rows[place] for place in range(len(rows))] == IDS
    assert rows[-1] == IDS[-1]


def test_no_row_is_no_row() -> None:
    assert list(RaggedIds([]).flat) == []
    assert not RaggedIds([])
