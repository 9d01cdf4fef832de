"""Answers as lines of text, CSV and JSON."""

import csv
import json
from typing import Any

import pytest

from zoo.answers import Filled
from zoo.cli.answering.answer_lines import AnswerLines
from zoo.cli.answering.thresholds import Thresholds
from zoo.errors import ConfigError

LABELS = {"a": 0.1, "b": 0.7, "c": 0.15, "d": 0.05}
FILLED = Filled("a cat", [[("cat", 0.9), ("dog", 0.1)]])


@pytest.mark.parametrize(
    ("answer", "text", "rows", "value"),
    [
        (
            LABELS,
            "x y\tb 0.700  c 0.150\n",
            [["input", "label_1", "probability_1", "label_2", "probability_2"], ["x y", "b", "0.7", "c", "0.15"]],
            {"labels": {"b": 0.7, "c": 0.15}},
        ),
        (["N", "V"], "x\tN\ny\tV\n\n", [["input", "tags"], ["x y", "N V"]], {"tags": ["N", "V"]}),
        ("an answer", "an answer\n", [["input", "text"], ["x y", "an answer"]], {"text": "an answer"}),
        (0.25, "x y\t0.250\n", [["input", "score"], ["x y", "0.25"]], {"score": 0.25}),
        (
            FILLED,
            "a cat\n  mask 1\tcat 0.900  dog 0.100\n",
            [
                ["input", "text", "mask_1_label_1", "mask_1_probability_1", "mask_1_label_2", "mask_1_probability_2"],
                ["x y", "a cat", "cat", "0.9", "dog", "0.1"],
            ],
            {"text": "a cat", "masks": [[{"token": "cat", "probability": 0.9}, {"token": "dog", "probability": 0.1}]]},
        ),
    ],
)
def test_each_kind_of_answer_has_a_line_in_each_format(answer: Any, text: str, rows: Any, value: Any) -> None:
    assert AnswerLines("text", 2).line("x y", answer) == text
    assert list(csv.reader(AnswerLines("csv", 2).line("x y", answer).splitlines())) == rows
    assert json.loads(AnswerLines("jsonl", 2).line("x y", answer)) == {"input": "x y", **value}


def test_csv_has_one_header_and_quotes_what_would_break_it() -> None:
    lines = AnswerLines("csv", None)
    text = lines.line('a, "b"', LABELS) + lines.line(("one", "two"), LABELS)
    assert list(csv.reader(text.splitlines())) == [
        ["input", "label", "probability"],
        ['a, "b"', "b", "0.7"],
        ["one\ttwo", "b", "0.7"],
    ]


def test_csv_has_the_columns_of_its_header_in_every_row() -> None:
    mask = [("cat", 0.9)]
    lines = AnswerLines("csv", 1)
    text = "".join(lines.line("x", Filled("t", [mask] * count)) for count in (2, 1, 0))
    assert [len(row) for row in csv.reader(text.splitlines())] == [6] * 4
    with pytest.raises(ConfigError, match="'y' has the column 'mask_3_probability_1', which the header"):
        lines.line("y", Filled("t", [mask] * 3))


def test_of_several_labels_all_have_probabilities_and_those_above_a_threshold_are_chosen() -> None:
    def lines(kind: str, *given: str) -> AnswerLines:
        found = AnswerLines(kind, None)
        found.several = Thresholds(given, "multi-label")
        return found

    assert json.loads(lines("jsonl", "0.12").line("x", LABELS)) == {
        "input": "x", "labels": LABELS, "chosen": ["b", "c"],
    }  # fmt: skip
    assert list(csv.reader(lines("csv", "c=0.1").line("x", LABELS).splitlines())) == [
        ["input", "a", "b", "c", "d", "chosen"],
        ["x", "0.1", "0.7", "0.15", "0.05", "b;c"],
    ]
    for kind in ("text", "csv", "jsonl"):
        with pytest.raises(ConfigError, match="--threshold e=…: the labels are a, b, c, d"):
            lines(kind, "e=0.9").line("x", LABELS)


def test_the_columns_of_several_labels_are_the_same_whichever_is_likely() -> None:
    lines = AnswerLines("csv", None)
    lines.several = Thresholds((), "multi-label")
    assert lines.line("x", {"b": 0.7, "a": 0.6}) == "input,a,b,chosen\nx,0.6,0.7,b;a\n"
    assert lines.line("y", {"a": 0.8, "b": 0.1}) == "y,0.8,0.1,a\n"


def test_formats_that_are_none_are_told() -> None:
    with pytest.raises(ConfigError, match="--format 'xml' is not one of text, csv, jsonl"):
        AnswerLines("xml", None)


def test_numbers_have_a_column_each_in_csv_and_no_probability() -> None:
    lines = AnswerLines("csv", None)
    lines.numbers = True
    assert lines.line("CCO", {"solubility": 0.45, "mass": 46.0}) == "input,solubility,mass\nCCO,0.45,46.0\n"


def test_of_numbers_none_is_left_out_and_their_order_stays() -> None:
    lines = AnswerLines("text", None)
    lines.numbers = True
    numbers = {"gap": 0.1, "mass": 46.0, "charge": -1.0, "solubility": 0.45}
    assert lines.line("CCO", numbers) == "CCO\tgap 0.100  mass 46.000  charge -1.000  solubility 0.450\n"
