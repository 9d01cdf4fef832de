from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from zoo.bench.learning_curve.results.compute import AXES, axes_of, best_at, budgets, cost_text, crossover_over, spent
from zoo.bench.learning_curve.results.study import Study

MakeStudy = Callable[..., Study]
WORSE, BETTER, CROSSING = [0.2, 0.3, 0.4, 0.5], [0.4, 0.5, 0.6, 0.7], [0.2, 0.4, 0.7, 0.9]


def costing(study: Study, factor: float, steps: bool = False) -> Study:
    """Make the second model cost so many times as much; with steps, larger sizes cost more operations."""
    records = [
        {
            **record,
            "config": {**record["config"], "steps": record["config"]["size"] if steps else 10},
            "seconds": record["seconds"] * (factor if record["config"]["model"] == "vit" else 1),
        }
        for record in study.records
    ]
    return replace(study, records=records)


def test_operations_are_three_forward_passes_of_all_examples_seen(make_study: MakeStudy) -> None:
    found = spent(make_study([0.5, 0.6], [0.5, 0.6], sizes=(20, 1000)), "operations")
    assert (found["cnn", 20], found["cnn", 1000]) == (3 * 2_000_000 * 10 * 20, 3 * 2_000_000 * 10 * 32)


def test_an_axis_that_a_run_does_not_tell_is_not_offered(make_study: MakeStudy) -> None:
    study = make_study(BETTER, CROSSING)
    assert axes_of(study) == AXES
    last = {key: value for key, value in study.records[-1].items() if key != "seconds"}
    assert list(axes_of(replace(study, records=[*study.records[:-1], last]))) == ["operations"]


def test_at_equal_cost_of_equal_sizes_the_crossing_is_that_of_the_sizes(make_study: MakeStudy) -> None:
    study = make_study(BETTER, CROSSING)
    over, usual = crossover_over(costing(study, 1), "seconds"), study.crossover()
    assert over
    assert over.size
    assert usual
    assert usual.size
    assert over.size.value == pytest.approx(usual.size.value / 8 + 1, rel=0.05)  # the seconds of the fixture
    assert over.size.low <= over.size.value <= over.size.high


def test_a_dearer_challenger_crosses_later_and_one_that_is_much_dearer_never(make_study: MakeStudy) -> None:
    study = make_study(BETTER, CROSSING)
    even, dearer = (crossover_over(costing(study, factor), "seconds") for factor in (1, 1.5))
    assert even
    assert even.size
    assert dearer
    assert dearer.size
    assert dearer.size.value > even.size.value
    assert dearer.kind == "measured"
    never = crossover_over(costing(make_study(BETTER, [0.2, 0.4, 0.58, 0.69]), 4), "seconds")
    assert never is not None
    assert (never.kind, never.size) == ("none", None)


def test_a_crossing_over_cost_is_never_extrapolated_nor_found_where_there_is_none(make_study: MakeStudy) -> None:
    rising = make_study(BETTER, [0.1, 0.25, 0.45, 0.69])
    assert (found := rising.crossover()) is None or found.kind == "extrapolated"
    assert (over := crossover_over(rising, "seconds")) is None or over.size is None
    assert crossover_over(make_study(BETTER, CROSSING), "operations") is None  # all points have one cost
    assert crossover_over(make_study(BETTER, BETTER), "seconds") is None  # no difference is clear
    noisy = [{**each, "seconds": 5 + each["config"]["size"] % 7} for each in make_study(BETTER, CROSSING).records]
    shuffled = replace(make_study(BETTER, CROSSING), records=noisy)
    assert crossover_over(shuffled, "seconds") is None  # more examples do not cost more
    apart = costing(make_study(BETTER, CROSSING), 1000)
    assert crossover_over(apart, "seconds") is None  # no cost is one of both


def test_with_steps_that_grow_operations_have_a_crossing(make_study: MakeStudy) -> None:
    found = crossover_over(costing(make_study(BETTER, CROSSING), 1, steps=True), "operations")
    assert found is not None
    assert found.kind == "measured"


def test_the_best_for_a_budget_is_among_what_it_pays_for(make_study: MakeStudy) -> None:
    study = costing(make_study(BETTER, CROSSING), 2)
    costs = spent(study, "seconds")
    found = best_at(study, "seconds")
    for best in found:
        for name in ("cnn", "vit"):
            paid = [size for size in study.sizes if costs[name, size] <= best.budget]
            assert best.sizes.get(name) == (max(paid) if paid else None)
        scores = {name: study.points[name, size].value for name, size in best.sizes.items()}
        assert best.leaders[0] == max(scores, key=lambda name: scores[name])
    assert found[0].leaders == ["cnn"]
    assert found[-1].leaders == ["vit"]
    assert set(found[-1].sizes.values()) == {3000}


def test_models_that_cannot_be_told_apart_are_both_named(make_study: MakeStudy) -> None:
    assert set(best_at(make_study(BETTER, BETTER), "seconds")[-1].leaders) == {"cnn", "vit"}


@pytest.mark.parametrize("costs", [[7.0, 9.0], [0.3, 20.0, 500.0], [3e9, 4e15], [2.0]])
def test_budgets_are_round_few_and_reach_from_the_cheapest_to_all(costs: list[float]) -> None:
    found = budgets(costs)
    assert found == sorted(found)
    assert min(costs) <= found[0] <= 10 * min(costs)
    assert found[-1] >= max(costs)
    assert len(found) <= 8
    assert all(f"{each:.0e}"[0] in "1235" for each in found)
    assert np.allclose([float(f"{each:.0e}") for each in found], found)


@pytest.mark.parametrize(
    ("value", "axis", "text"),
    [
        (0.5, "seconds", "0.5 s"),
        (1234.0, "seconds", "1,200 s"),
        (2.5e12, "operations", "2.5 T"),
        (10.0, "operations", "10"),
    ],
)
def test_costs_are_written_shortly(value: float, axis: str, text: str) -> None:
    assert cost_text(value, axis) == text
