"""The report on approximations: from which size on who is near."""

from typing import Any

import pytest

from zoo.bench.approximation.report import collected, report


def run(mechanism: str, scale: float, errors: dict[str, float], seed: int = 0) -> dict[str, Any]:
    return {"config": {"mechanism": mechanism, "scale": scale, "seed": seed}, "weights": errors, "output": errors}


RUNS = [
    run("nystrom", 0.25, {"16": 0.05, "32": 0.3, "64": 0.08, "128": 0.01}),
    run("nystrom", 1.0, {"16": 0.5, "32": 0.4, "64": 0.3, "128": 0.2}),
    run("window", 0.25, {"16": 0.9, "32": 0.8}),
]


def test_near_is_where_no_greater_size_is_farther() -> None:
    assert report(RUNS).lines == [
        "nystrom (landmarks) puts 90% of the weight right from 64 where scores spread by 0.25.",
        "window (keys read) is near nowhere.",
    ]


def test_errors_are_means_over_inputs_with_intervals() -> None:
    both = [run("window", 1.0, {"16": value}, seed) for seed, value in enumerate((0.2, 0.4))]
    found = collected(both, "weights")["window", 1.0, 16]
    assert found.value == pytest.approx(0.3)
    assert 0.2 <= found.low < 0.3 < found.high <= 0.4


def test_tables_have_a_column_for_each_size_and_a_dash_where_there_is_none() -> None:
    table = report(RUNS).tables[0]
    assert table.columns == ["mechanism", "spread", "16", "32", "64", "128"]
    assert table.rows[2] == ["window", 0.25, 0.9, 0.8, None, None]


def test_each_spread_of_scores_has_a_panel() -> None:
    figure = report(RUNS).figures["approximation"]
    assert [axes.get_title("left") for axes in figure.axes] == ["scores spread by 0.25", "scores spread by 1"]
