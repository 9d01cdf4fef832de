"""The report is one page, which makes no request."""

import re
from pathlib import Path

import zoo
from zoo.evaluation.report.page import number, table


def test_the_page_holds_scores_groups_figures_and_the_worst_answers(trained: str, tmp_path: Path) -> None:
    found = zoo.evaluate(trained, by="shop", split="all", least=5, samples=10, worst=3)
    text = found.report(tmp_path / "page.html", "zoo evaluate <run>").read_text()
    for wanted in (
        "macro F1",
        "By shop",
        "west (1)",
        "Confusion matrix",
        "Reliability",
        "Worst answers",
        "&lt;run&gt;",
    ):
        assert wanted in text
    assert text.count("<article>") == 3
    assert "data give themselves" not in text  # accuracy and loss, which stand above with their intervals
    assert "default-src 'none'" in text
    assert not re.findall(r'(?:src|href)="(?!data:|#)', text)


def test_cells_of_a_table_are_escaped_and_scores_have_four_digits() -> None:
    assert "<td>&lt;b&gt;</td>" in table(("a",), [["<b>"]])
    assert [number(value) for value in (0.12345, 12.3456, float("nan"))] == ["0.1235", "12.35", "-"]
