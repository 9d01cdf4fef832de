"""Absent pictures: named, counted, and an error only where none is left."""

import pytest

from zoo import DataError
from zoo.data import Skipped
from zoo.plugins.caption.data.absent import notes_of


def test_absent_pictures_are_named_and_counted() -> None:
    assert notes_of([], 3, "mine") == ()
    (note,) = notes_of([Skipped("a.png", "gone")], 3, "mine")
    assert "1 of 3 pictures" in note
    assert "a.png" in note


def test_where_none_is_left_the_error_says_what_to_do() -> None:
    with pytest.raises(DataError, match=r"^mine: of 1 pictures none can be used, such as a\.png: gone; look$"):
        notes_of([Skipped("a.png", "gone")], 1, "mine", "; look")
