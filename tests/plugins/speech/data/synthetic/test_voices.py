"""Who speaks what: nobody is heard in two parts, and all of it follows the seed."""

from collections import Counter

from zoo.plugins.speech.data.synthetic.voices import DIGITS, SPEAKERS, SPEEDS, draw, speakers

SIZES = (700, 50, 160)


def test_nobody_is_heard_in_two_parts() -> None:
    who = [set(part) for part in speakers(0)]
    assert sum(map(len, who)) == len(set.union(*who)) == len(SPEAKERS)
    parts = draw("words", SIZES, 0)
    assert [{each.speaker for each in part} for part in parts] == who
    assert speakers(1).test != speakers(0).test


def test_what_is_drawn_follows_the_seed() -> None:
    assert draw("strings", SIZES, 0) == draw("strings", SIZES, 0)
    assert draw("strings", SIZES, 1).test != draw("strings", SIZES, 0).test


def test_every_digit_is_as_often_and_everyone_says_every_digit() -> None:
    train = draw("words", SIZES, 0).train
    counts = Counter(each.text for each in train)
    assert set(counts) == set(DIGITS)
    assert max(counts.values()) - min(counts.values()) <= 4
    assert len({(each.speaker, each.text) for each in train}) == 10 * len({each.speaker for each in train})


def test_strings_have_three_to_seven_digits() -> None:
    lengths = Counter(len(each.text.split()) for each in draw("strings", SIZES, 0).train)
    assert set(lengths) == {3, 4, 5, 6, 7}
    assert min(lengths.values()) > 90


def test_speeds_lie_between_their_bounds() -> None:
    speeds = {each.speed for each in draw("words", SIZES, 0).train}
    assert (min(speeds), max(speeds)) == SPEEDS
