"""What is left out is counted, and each is named."""

from typing import Any

import pytest

from zoo.data.skip_report import Skipped, list_skipped, read_each
from zoo.errors import InputError


def test_what_is_left_out_is_counted_and_each_is_named() -> None:
    skipped = [Skipped(f"{number}.wav", "broken") for number in range(2)]
    assert list_skipped(skipped, 9, "sounds") == "2 of 9 sounds are skipped:\n  0.wav: broken\n  1.wav: broken"


def test_a_name_that_the_reason_repeats_is_told_once() -> None:
    assert list_skipped([Skipped("a.wav", "'a.wav': NaN")], 1, "sounds").endswith("\n  a.wav: NaN")


def test_of_very_many_the_first_are_named() -> None:
    lines = list_skipped([Skipped(f"{number}.wav", "broken") for number in range(102)], 200, "sounds").splitlines()
    assert lines[0] == "102 of 200 sounds are skipped:"
    assert lines[-2:] == ["  99.wav: broken", "  and 2 more"]


def number(text: Any) -> int:
    if not text.isdigit():
        raise InputError(f"{text!r} is no number")
    return int(text)


def read(texts: Any, skipped: list[Skipped] | None = None) -> list[int]:
    several = isinstance(texts, list)
    return read_each(texts, number, lambda text, place: text, "text", several=several, skipped=skipped)


def test_each_is_read_or_skipped_with_a_warning_that_names_it() -> None:
    assert read("3") == [3]
    skipped: list[Skipped] = []
    with pytest.warns(UserWarning, match=r"1 of 3 texts are skipped:\n  x: 'x' is no number"):
        assert read(["1", "x", "3"], skipped) == [1, 3]
    assert skipped == [Skipped("x", "'x' is no number", 1)]


def test_one_that_cannot_be_read_is_named_by_its_place_among_several() -> None:
    with pytest.raises(InputError, match=r"^text 1: 'x' is no number$"):
        read(["1", "x"])
    with pytest.raises(InputError, match=r"^'x' is no number$"):
        read("x")
    with pytest.raises(InputError, match=r"^'x' is no number$"):
        read(["x"])


def test_nothing_left_is_an_error() -> None:
    with pytest.raises(InputError, match=r"^an empty list of texts$"):
        read([])
    with pytest.warns(UserWarning, match="1 of 1"), pytest.raises(InputError, match=r"^no text can be read, of 1"):
        read(["x"], [])
