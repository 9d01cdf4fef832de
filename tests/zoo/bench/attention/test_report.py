"""The report: who is ahead, at equal steps and at equal seconds, beside what a shortcut reaches."""

from typing import Any

import pytest

from zoo.bench.attention.report import last_within, report, scores

TASK = "neighbours:16"


def trained(mechanism: str, accuracy: float, seed: int = 0, rate: float = 0.01) -> dict[str, Any]:
    config = {"part": "score", "mechanism": mechanism, "task": TASK, "learning_rate": rate, "seed": seed, "steps": 100}
    looks = [[25, accuracy / 2], [100, accuracy]]
    return {"config": config, "looks": looks, "accuracy": {"16": accuracy}, "parameters": 5}


def cost(mechanism: str, step: float) -> dict[str, Any]:
    return {"config": {"part": "cost", "mechanism": mechanism, "task": TASK}, "step": step, "bytes": 1_000_000}


RUNS = [trained(name, score, seed) for name, score in (("full", 0.9), ("linear", 0.25)) for seed in range(3)]


def test_equal_seconds_end_where_the_cheapest_has_done_all_its_steps() -> None:
    found = scores([*RUNS, cost("full", 0.02), cost("linear", 0.01)])
    assert found[TASK, "linear"].in_time == pytest.approx(0.25)
    assert found[TASK, "full"].in_time == pytest.approx(0.45)


def test_a_look_counts_if_its_steps_fit_into_the_seconds() -> None:
    looks = [[10, 0.1], [20, 0.2]]
    assert [last_within(looks, 0.1, budget) for budget in (0.9, 1.0, 1.9, 2.0, 9.0)] == [None, 0.1, 0.1, 0.2, 0.2]


def test_the_first_lines_say_who_is_ahead_and_who_shows_no_more_than_a_shortcut() -> None:
    made = report([*RUNS, cost("full", 0.02), cost("linear", 0.01)])
    assert made.lines == [
        f"{TASK}: ahead at equal steps: full (0.900); at equal seconds: full (0.450). "
        "Not clearly above guessing (0.250): linear."
    ]
    rows = {row[1]: row[2] for row in made.tables[0].rows}
    assert rows == {"full": pytest.approx(0.9), "linear": pytest.approx(0.25), "(guessing)": 0.25}


def test_nobody_is_ahead_where_all_guess() -> None:
    assert report([trained("full", 0.26), trained("full", 0.2, 1)]).lines[0].startswith(f"{TASK}: no mechanism")


def test_one_seed_is_told_to_have_no_interval() -> None:
    assert "One seed" in report([trained("full", 0.9)]).lines[-1]


def test_what_was_refused_is_left_out_with_its_reason() -> None:
    refused = {"config": {"part": "score", "mechanism": "linformer:8,8", "task": TASK}, "refused": "too long"}
    made = report([*RUNS, refused])
    assert [table.name for table in made.tables] == ["scores", "abilities", "left-out"]
    assert made.tables[2].rows == [[TASK, "linformer:8,8", "too long"]]


def test_greater_lengths_have_a_table_of_their_own() -> None:
    made = report([trained("full", 0.9) | {"accuracy": {"8": 0.8, "16": 0.4}}])
    assert made.tables[0].rows[0][2] == pytest.approx(0.8)
    assert made.tables[1].rows == [[TASK, "full", 8, 0.8], [TASK, "full", 16, 0.4]]


def test_what_each_can_is_what_its_class_says() -> None:
    runs = [*RUNS, trained("linformer:4,16", 0.5), trained("lstm-micro", 0.5)]
    (table,) = (table for table in report(runs).tables if table.name == "abilities")
    assert table.columns == ["mechanism", "causal", "padding exact", "any length", "streams", "weights"]
    assert table.rows == [
        ["full", "yes", "yes", "yes", "no", "yes"],
        ["linear", "yes", "yes", "yes", "yes", "yes"],
        ["linformer:4,16", "no", "yes", "no", "no", "yes"],
    ]


def test_untrained_models_have_a_table_and_a_figure() -> None:
    config = {"part": "untrained", "mechanism": "full", "length": 1024}
    made = report([*RUNS, {"config": config, "forward": 0.001, "step": 0.004, "bytes": 3_000_000}])
    (table,) = (table for table in made.tables if table.name == "untrained")
    assert table.rows == [["full", 1024, 1.0, 4.0, 3.0]]
    assert set(made.figures) == {"length"}


def test_scores_are_drawn_where_costs_are_known() -> None:
    assert set(report([*RUNS, cost("full", 0.02), cost("linear", 0.01)]).figures) == {"speed", "front"}
    with_state = [cost("full", 0.02) | {"state": 5000}, cost("linear", 0.01) | {"state": 400}]
    assert set(report([*RUNS, *with_state]).figures) == {"speed", "front", "state"}


def test_bits_stand_beside_those_of_counting() -> None:
    stored = {"shortcuts": {"guessing": 0.25}, "shortcut_bits": {"frequencies of pairs": 3.5}, "bits": 2.5}
    config = {
        "part": "score",
        "task": "text:gone.txt",
        "mechanism": "full",
        "seed": 0,
        "steps": 1,
        "learning_rate": 0.1,
    }
    run = {"config": config, "accuracy": {"8": 0.5}, "looks": [[1, 0.5]], "parameters": 9, **stored}
    found = {table.name: table.rows for table in report([run]).tables}
    assert found["bits"] == [["text:gone.txt", "full", 2.5], ["text:gone.txt", "(frequencies of pairs)", 3.5]]
    assert ["text:gone.txt", "(guessing)", 0.25] in [row[:3] for row in found["scores"]]


def test_what_was_pretrained_stands_beside_what_was_not_and_not_among_it() -> None:
    config = {"part": "score", "task": "neighbours:8", "mechanism": "full", "seed": 0, "steps": 9, "learning_rate": 1}
    scratch = {"config": config, "accuracy": {"8": 0.5}, "looks": [[9, 0.5]], "parameters": 9}
    again = scratch | {"config": config | {"self_pretrain": True}, "accuracy": {"8": 0.75}, "looks": [[5, 0.75]]}
    found = {table.name: table.rows for table in report([scratch, again]).tables}
    assert found["self-pretrained"] == [
        ["neighbours:8", "full", 0.5, "0.500 to 0.500", 9, 0.75, "0.750 to 0.750", 5],
    ]
    assert [row[2] for row in found["scores"] if row[1] == "full"] == [0.5]
