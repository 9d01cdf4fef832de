from collections import Counter
from typing import Any

import pytest

import zoo
from zoo.plugins.text.data.parallel_corpus import GeneratedPair
from zoo.plugins.text.data.synthetic import dates
from zoo.plugins.text.data.synthetic.dates import draw_dates, nth, open_dates, styles, year_in_words


def test_a_date_in_three_styles() -> None:
    assert styles("1987-03-05") == (
        "march the fifth nineteen eighty-seven",
        "the fifth of march nineteen eighty-seven",
        "in nineteen eighty-seven on march the fifth",
    )


@pytest.mark.parametrize(
    ("day", "word"),
    [
        (1, "first"),
        (2, "second"),
        (4, "fourth"),
        (12, "twelfth"),
        (20, "twentieth"),
        (23, "twenty-third"),
        (30, "thirtieth"),
    ],
)
def test_ordinals(day: int, word: str) -> None:
    assert nth(day) == word


def test_years() -> None:
    told = [year_in_words(year) for year in (1900, 2005, 2024, 1910)]
    assert told == ["nineteen hundred", "twenty oh five", "twenty twenty-four", "nineteen ten"]


def test_a_seed_draws_the_same_dates_and_styles_are_about_as_frequent() -> None:
    drawn = draw_dates(3000, 0)
    assert drawn == draw_dates(3000, 0)
    assert drawn != draw_dates(3000, 1)
    assert len({pair.source for pair in drawn}) == 3000
    counts = Counter(styles(pair.source).index(pair.target) for pair in drawn)
    assert min(counts.values()) > 900


def test_no_date_is_in_two_parts_and_any_style_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dates, "SIZES", (60, 10, 20))
    corpus: Any = open_dates("", zoo.info("transformer-tiny"), 0, "byte")
    sources = [{pair.source for pair in part} for part in corpus.parts.values()]
    assert len(set.union(*sources)) == 90
    pairs = corpus.parts["test"]
    for style in range(3):
        written = [GeneratedPair(pair, styles(pair.source)[style], pair.target) for pair in pairs]
        assert corpus.metrics_of(written) == {"exact match": 1.0, "BLEU": pytest.approx(100.0)}
    assert corpus.references_of(pairs[0]) == styles(pairs[0].source)
    mixed = [GeneratedPair(pair, styles(pair.source)[0].replace(" the ", " "), pair.target) for pair in pairs]
    assert corpus.metrics_of(mixed)["exact match"] == 0
