"""What is left out is counted, and each is named."""

from zoo.data.skip_report import Skipped, list_skipped


def test_what_is_left_out_is_counted_and_each_is_named() -> None:
    skipped = [Skipped(f"{number}.wav", "broken") for number in range(2)]
    assert list_skipped(skipped, 9, "sounds") == "2 of 9 sounds are skipped:\n  0.wav: broken\n  1.wav: broken"


def test_a_name_that_the_reason_repeats_is_told_once() -> None:
    assert list_skipped([Skipped("a.wav", "'a.wav': NaN")], 1, "sounds").endswith("\n  a.wav: NaN")


def test_of_very_many_the_first_are_named() -> None:
    lines = list_skipped([Skipped(f"{number}.wav", "broken") for number in range(102)], 200, "sounds").splitlines()
    assert lines[0] == "102 of 200 sounds are skipped:"
    assert lines[-2:] == ["  99.wav: broken", "  and 2 more"]
