"""Drawn words: reproducible, different, of letters, and of different stems."""

from collections import Counter

from zoo.plugins.text.data.synthetic.spelling import ONSETS, PREFIXES, SUFFIXES, draw_words


def test_a_seed_draws_the_same_words_and_another_others() -> None:
    assert draw_words(200, 0) == draw_words(200, 0)
    assert len(draw_words(200, 0).keys() & draw_words(200, 1).keys()) < 40


def test_fewer_words_are_the_first_of_more() -> None:
    assert list(draw_words(200, 0).items())[:50] == list(draw_words(50, 0).items())


def test_words_differ_and_are_of_letters_around_their_stem() -> None:
    drawn = draw_words(2000, 0)
    assert len(set(drawn.values())) == 2000
    for stem, word in drawn.items():
        assert stem.removesuffix("e") in word
        assert word.isascii()
        assert word.isalpha()
        assert word.islower()


def test_onsets_and_affixes_are_balanced() -> None:
    words = draw_words(4000, 0).values()
    starts = Counter(
        next(onset for onset in sorted(ONSETS, key=len, reverse=True) if word.startswith(onset)) for word in words
    )
    assert len(starts) >= len(ONSETS) - 1
    assert 0.4 < sum(word.endswith(SUFFIXES) for word in words) / len(words) < 0.75
    assert 0.1 < sum(word.startswith(PREFIXES) for word in words) / len(words) < 0.3
