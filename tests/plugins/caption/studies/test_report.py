from typing import Any

import pytest

from zoo.plugins.caption.studies.report import report, table

SHOWN = {"pixels": [[[9, 9, 9]] * 4] * 4, "wanted": "a red one", "words": ["a", "red", "two"], "grid": [2, 2],
         "weights": [[0.25] * 4] * 3}  # fmt: skip


def record(variant: str, exact: float, shown: list[Any]) -> dict[str, Any]:
    part = {"exact match": exact, "BLEU": 50.0, "pointing": 0.5}
    return {"config": {"variant": variant}, "seen": part, "unseen": part, "seconds": 3.0, "shown": shown}


def test_the_table_has_means_and_deviations_over_the_seeds() -> None:
    found = table({"soft": [record("soft", 0.8, []), record("soft", 0.9, [])], "hard": [record("hard", 0.7, [])]})
    (soft, hard) = (dict(zip(found.columns, row, strict=True)) for row in found.rows)
    assert soft["exact match"] == pytest.approx(0.85)
    assert soft["±"] == pytest.approx(0.0707, abs=1e-4)
    assert hard["±"] is None


def test_the_picture_stands_once_for_each_word_and_wrong_words_are_red() -> None:
    made = report([record("soft", 0.8, [SHOWN]), record("hard", 0.8, [SHOWN])])
    (figure,) = made.figures.values()
    titles = [(axes.get_title(), axes.title.get_color()) for axes in figure.axes]
    assert [title for title, _ in titles if title] == ["a", "red", "two"] * 2
    assert [color for title, color in titles if title == "two"] == ["tab:red"] * 2
    assert made.lines[0].startswith("soft: 80.0% of the captions are exact")


def test_without_kept_pictures_there_is_no_figure() -> None:
    assert not report([record("soft", 0.8, [])]).figures
