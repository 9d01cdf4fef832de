"""Figures of the study of attentions."""

from itertools import pairwise

import numpy as np

from zoo.bench.attention.figures import Point, draw_front, draw_lengths, draw_speed, draw_state, pareto


def point(mechanism: str, score: float, step: float, *, state: int | None = 1000, task: str = "t") -> Point:
    of = {"low": score - 0.1, "high": score + 0.1, "steps": 100.0, "memory": 10**6}
    return Point(task=task, mechanism=mechanism, score=score, step=step, state=state, **of)  # type: ignore[arg-type]


POINTS = [point("full", 0.9, 0.02), point("linear", 0.9, 0.01), point("nystrom:4", 0.4, 0.03, state=None)]


def test_nothing_on_the_front_is_beaten_in_both() -> None:
    found = {"a": (1.0, 0.5), "b": (2.0, 0.4), "c": (3.0, 0.9), "d": (3.0, 0.7), "e": (4.0, 0.9)}
    assert pareto(found) == [(1.0, 0.5), (3.0, 0.9)]


def test_names_stand_beside_the_figure_and_do_not_cover_each_other() -> None:
    axes = draw_speed([point(name, 0.5, 0.01) for name in ("full", "linear", "gla", "ssd")]).axes[0]
    heights = sorted(text.xyann[1] for text in axes.texts)  # type: ignore[attr-defined]
    assert len(heights) == 4
    assert all(b - a > 0.04 for a, b in pairwise(heights))


def test_area_is_in_proportion_to_memory() -> None:
    half = Point(**(vars(point("linear", 0.5, 0.01)) | {"memory": 5 * 10**5}))
    sizes = [c.get_sizes()[0] for c in draw_speed([point("full", 0.5, 0.01), half]).axes[0].collections]  # type: ignore[attr-defined]
    assert sizes[0] == 2 * sizes[1]


def test_each_task_has_a_panel_and_each_mechanism_a_name() -> None:
    figure = draw_front([*POINTS, *(point("full", 0.5, 0.02, task="u"),)])
    assert [axes.get_title("left") for axes in figure.axes] == ["t", "u"]
    assert {text.get_text() for text in figure.legends[0].get_texts()} == {"full", "linear", "nystrom:4"}


def test_what_cannot_decode_has_no_place_over_the_state() -> None:
    figure = draw_state(POINTS)
    assert figure
    assert {text.get_text() for text in figure.legends[0].get_texts()} == {"full", "linear"}
    assert draw_state([POINTS[2]]) is None


def test_costs_are_drawn_over_length() -> None:
    config = {"part": "untrained", "mechanism": "full"}
    records = [{"config": config | {"length": n}, "step": n / 1e4, "bytes": n * 100} for n in (64, 16)]
    time, memory = draw_lengths(records).axes
    assert np.asarray(time.lines[0].get_xdata()).tolist() == [16, 64]
    assert np.asarray(memory.lines[0].get_ydata()).tolist() == [0.0016, 0.0064]
