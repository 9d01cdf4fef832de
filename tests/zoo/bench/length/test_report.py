from typing import Any

from zoo.bench.grid.engine import Record
from zoo.bench.length.families import FAMILIES
from zoo.bench.length.report import accuracies, report


def recalled(family: str, distance: int, rate: float, seed: int, validation: float, accuracy: float) -> Record:
    config = {"part": "recall", "family": family, "distance": distance, "learning_rate": rate, "seed": seed}
    found: dict[str, Any] = {"validation": validation, "accuracy": accuracy, "steps_taken": 10, "parameters": 5}
    return {"config": config, **found}


def test_the_rate_is_chosen_on_validation_whatever_the_test_says() -> None:
    runs = [recalled("GRU", 8, rate, seed, rate * 10, 1 - rate) for rate in (0.01, 0.03) for seed in (0, 1)]
    chosen = accuracies(runs)["GRU"][8]
    assert [run["config"]["learning_rate"] for run in chosen] == [0.03, 0.03]


def test_the_report_says_how_far_a_family_remembers_and_what_chance_is() -> None:
    runs = [
        recalled("full attention", 8, 0.01, 0, 1.0, 1.0),
        recalled("full attention", 64, 0.01, 0, 1.0, 0.9),
        recalled("window of 8", 64, 0.01, 0, 0.1, 0.125),
    ]
    made = report(runs)
    assert made.lines == [
        "full attention: remembers over 64 tokens.",
        "window of 8: remembers at no distance.",
        "Chance is 0.125.",
    ]
    (table,) = made.tables
    assert [row[0] for row in table.rows] == ["full attention", "full attention", "window of 8"]
    assert len(made.figures["length"].axes) == 3


def test_exponents_are_fitted_along_one_axis_with_the_other_held() -> None:
    def measured(n: int, d: int) -> Record:
        found = {"operations": n**2 * d, "seconds": 1e-9 * n * d, "decoding_seconds": 1e-6 * n}
        return {"config": {"part": "layer", "family": "full attention", "length": n, "dim": d}, **found}

    shapes = [(n, 128) for n in (256, 512, 1024, 2048)] + [(512, d) for d in (64, 256, 512)]
    (table,) = report([measured(*shape) for shape in shapes]).tables
    (row,) = table.rows
    assert row[:2] == ["full attention", FAMILIES["full attention"].operations]
    assert [round(float(cell or 0), 6) for cell in row[2:]] == [2, 1, 1, 1, 0.256, 2.048]


def test_a_whole_sequence_stands_beside_token_by_token_where_that_was_measured() -> None:
    config = {"part": "layer", "family": "delta rule", "length": 256, "dim": 128}
    measured: Record = {"config": config, "operations": 5, "seconds": 0.002, "stepwise_seconds": 0.05}
    before: Record = {"config": config | {"length": 512}, "operations": 5, "seconds": 0.004}
    tables = {table.name: table for table in report([measured, before]).tables}
    assert tables["forms"].rows == [["delta rule", FAMILIES["delta rule"].form, 256, 2.0, 50.0, 25.0]]
    assert "forms" not in {table.name for table in report([before]).tables}
