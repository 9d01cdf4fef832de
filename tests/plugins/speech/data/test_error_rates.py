import pytest

from zoo.plugins.speech.data.error_rates import character_error_rate, word_error_rate


def test_nothing_wrong_is_zero() -> None:
    assert word_error_rate(["one two"], ["one two"]) == character_error_rate(["ab"], ["ab"]) == 0


def test_wrong_missing_and_added_words_count_one_each_over_all_that_was_said() -> None:
    wanted = ["one two three", "four"]
    assert word_error_rate(["one too three", "four"], wanted) == 1 / 4
    assert word_error_rate(["one three", "four"], wanted) == 1 / 4
    assert word_error_rate(["one two three", "four four four"], wanted) == 2 / 4
    assert word_error_rate(["", ""], wanted) == 1
    assert word_error_rate(["a b c d e f", ""], wanted) == 7 / 4


def test_characters_count_with_the_spaces_between() -> None:
    assert character_error_rate(["one tvo"], ["one two"]) == pytest.approx(1 / 7)
    assert character_error_rate(["onetwo"], ["one two"]) == pytest.approx(1 / 7)


def test_there_are_as_many_of_both() -> None:
    with pytest.raises(ValueError, match="zip"):
        word_error_rate(["one"], ["one", "two"])
