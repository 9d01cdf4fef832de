"""The report on positions."""

from typing import Any

import pytest

from zoo.bench.positions.report import moved, report


def run(position: str, accuracy: dict[str, float], vectors: list[list[float]] | None) -> dict[str, Any]:
    drawn = [[2 * number for number in row] for row in vectors] if vectors else None
    return {"config": {"position": position, "length": 2}, "accuracy": accuracy, "vectors": vectors, "drawn": drawn}


RUNS = [
    run("sinusoidal", {"2": 0.9, "4": 0.5}, [[1.0, 0.0], [0.0, 2.0]]),
    run("sinusoidal", {"2": 0.7, "4": 0.3}, [[1.0, 0.0], [0.0, 2.0]]),
    run("learned", {"2": 0.8}, [[1.0, 0.0], [1.0, 0.0]]),
    run("none", {"2": 0.1, "4": 0.1}, None),
]


def test_lines_tell_how_far_each_reaches() -> None:
    assert report(RUNS).lines == [
        "sinusoidal: 0.800 at 2 tokens; 0.400 at 4, to which it was not trained.",
        "learned: 0.800 at 2 tokens; has no positions behind it.",
        "none: 0.100 at 2 tokens; 0.100 at 4, to which it was not trained.",
    ]


def test_what_adds_vectors_has_a_panel_of_them_and_one_of_their_cosines() -> None:
    figure = report(RUNS).figures["positions"]
    assert [axes.get_title("left") for axes in figure.axes[:2]] == ["sinusoidal", "learned"]
    cosines = figure.axes[3].images[0].get_array()
    assert cosines is not None
    assert cosines.tolist() == [[1, 1], [1, 1]]


def test_how_far_training_moved_the_vectors_is_a_share() -> None:
    assert moved(RUNS[0]) == pytest.approx(0.5)
    assert moved(RUNS[3]) is None
