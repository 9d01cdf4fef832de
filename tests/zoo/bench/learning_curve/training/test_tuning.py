"""How a learning rate is chosen, and what the package keeps of that."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zoo.bench.learning_curve.config import StudyConfig
from zoo.bench.learning_curve.contestants.recipes import RATES
from zoo.bench.learning_curve.plan import plan
from zoo.bench.learning_curve.training.run import Run
from zoo.bench.learning_curve.training.tuning import (
    SEED,
    Budget,
    chosen,
    described,
    entries,
    kept,
    pilot_budget,
    pilot_runs,
)


@pytest.fixture
def runs(tmp_path: Path) -> list[Run]:
    config = StudyConfig(models=["resnet-micro", "vit-micro"], data="digits", sizes=[20], seeds=1, precision="32-true")
    return plan(config, tmp_path)[1]


def record(run: Run, rate: float, accuracy: float, loss: float) -> dict[str, Any]:
    tried = replace(run, learning_rate=rate).to_dict()
    scores = {"accuracy": accuracy, "loss": loss}
    more = {"seconds": 1.5, "device": "cpu", "precision": "32-true", "threads": 1}
    return {"config": tried, "validation_scores": scores, "validation": accuracy, **more}


def test_a_sweep_takes_the_rate_of_the_lowest_loss_where_the_metric_is_equal(runs: list[Run]) -> None:
    records = [record(runs[0], rate, 0.1, loss) for rate, loss in ((0.1, 2.3), (0.2, 2.2), (0.3, 2.4))]
    records += [record(runs[1], rate, accuracy, 1.0) for rate, accuracy in ((0.1, 0.5), (0.2, 0.4))]
    records += [{"config": runs[1].to_dict(), "error": "killed"}]
    found = {model: tuning.learning_rate for model, tuning in chosen(records).items()}
    assert found == {"resnet-micro": 0.2, "vit-micro": 0.1}


def test_the_mean_over_seeds_chooses_and_a_rate_that_fails_with_one_of_them_does_not(runs: list[Run]) -> None:
    tried = {0.1: (0.5, 0.5), 0.2: (0.3, 0.6), 0.3: (0.9, None)}
    records = []
    for rate, accuracies in tried.items():
        for seed, accuracy in enumerate(accuracies):
            run = replace(runs[0], seed=seed)
            failed = {"config": replace(run, learning_rate=rate).to_dict(), "error": "DivergedError"}
            records.append(failed if accuracy is None else record(run, rate, accuracy, 1.0))
    tuning = chosen(records)["resnet-micro"]
    assert tuning.learning_rate == 0.1
    assert tuning.scores == ((0.1, 0.5), (0.2, 0.45), (0.3, None))
    assert (tuning.seeds, tuning.runs) == ((0, 1), 6)


def test_every_model_has_the_whole_grid_with_every_seed(runs: list[Run]) -> None:
    pilots = pilot_runs([*runs, *runs], Budget(30, 7, (5, 6)))
    wanted = [(run.model, rate, seed) for run in runs for rate in RATES for seed in (5, 6)]
    assert [(run.model, run.learning_rate, run.seed) for run in pilots] == wanted
    assert {(run.size, run.steps, run.pilot) for run in pilots} == {(30, 7, True)}


def test_the_budget_is_of_the_lower_middle_size_not_the_smallest_or_of_known_rates(
    runs: list[Run],
) -> None:
    steps = {300: 1, 1000: 2, 3000: 3, 10000: 4}
    assert pilot_budget(steps, 2) == Budget(1000, 2, (SEED, SEED + 1))
    assert pilot_budget({300: 1, 1000: 2}, 1) == Budget(1000, 2, (SEED,))
    assert pilot_budget({10: 5}, 9) == Budget(10, 5, (SEED, SEED + 1, SEED + 2))
    known = chosen([record(runs[0], 0.1, 0.5, 1.0)])
    assert pilot_budget(steps, 3, known.values()) == Budget(runs[0].size, runs[0].steps, (0,))


def test_the_choice_tells_scores_failures_and_cost(runs: list[Run]) -> None:
    failed = {"config": replace(runs[0], learning_rate=0.4).to_dict(), "error": "DivergedError"}
    found = chosen([failed, record(runs[0], 0.2, 0.6, 1.0), record(runs[0], 0.1, 0.5, 1.0)])
    tuning = found["resnet-micro"]
    assert tuning.scores == ((0.1, 0.5), (0.2, 0.6), (0.4, None))
    assert (tuning.learning_rate, tuning.seconds, tuning.at_edge) == (0.2, 3.0, False)
    assert described(found).endswith("resnet-micro 0.2. The pilot's cost: 3 runs, 3 s of training.")
    assert chosen([failed]) == {}


def test_the_highest_and_the_lowest_rate_are_edges(runs: list[Run]) -> None:
    for best in (0.1, 0.3):
        tried = [record(runs[0], rate, float(rate == best), 1.0) for rate in (0.1, 0.2, 0.3)]
        assert chosen(tried)["resnet-micro"].at_edge


def test_what_is_kept_names_the_recipe_and_the_machine(runs: list[Run]) -> None:
    (entry,) = entries([record(runs[0], 0.1, 0.5, 1.0), record(runs[0], 0.2, 0.6, 1.0)])
    assert (entry["learning_rate"], entry["scores"], entry["threads"]) == (0.2, ((0.1, 0.5), (0.2, 0.6)), 1)
    assert entry["config"]["fingerprint"] == runs[0].fingerprint
    assert "learning_rate" not in entry["config"]


def test_nothing_is_kept_for_other_data_or_another_recipe(runs: list[Run], tmp_path: Path) -> None:
    assert [kept(run, 400) for run in runs] == [None, None]
    cards = plan(StudyConfig(sizes=[20], seeds=1, precision="32-true"), tmp_path)[1]
    assert [kept(replace(run, batch_size=64), 400) for run in cards] == [None] * 3


def test_of_what_is_kept_that_of_the_nearest_steps_is_given_and_none_from_afar(tmp_path: Path) -> None:
    run = plan(StudyConfig(sizes=[20], seeds=1, precision="32-true"), tmp_path)[1][0]
    of_steps = {steps: kept(run, steps) for steps in (40, 150, 400, 1_400, 2_000)}
    assert of_steps[40] is of_steps[2_000] is None
    few, default, many = (of_steps[steps] for steps in (150, 400, 1_400))
    assert few
    assert default
    assert many
    assert few.steps < default.steps == many.steps
