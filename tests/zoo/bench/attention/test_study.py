from pathlib import Path
from typing import Any

import pytest

from zoo.bench.attention.mechanisms import DEFAULT
from zoo.bench.attention.study import STUDY, measures_time, rates_in, runs
from zoo.errors import ConfigError


def test_every_mechanism_has_the_same_budget() -> None:
    budgets: dict[str, list[Any]] = {mechanism: [] for mechanism in DEFAULT}
    for config in runs():
        budgets[config["mechanism"]].append({key: value for key, value in config.items() if key != "mechanism"})
    assert all(budget == budgets["full"] for budget in budgets.values())
    assert {config["seed"] for config in runs() if config["part"] == "score"} == {0, 1, 2}


def test_what_measures_time_is_known_by_its_processor_and_what_learns_is_not() -> None:
    assert all(measures_time(config) == ("processor" in config) for config in runs(fast=True))


@pytest.mark.parametrize("rates", ["", "a,b", "0", "-1", "inf"])
def test_a_rate_is_a_number_above_zero(rates: str) -> None:
    with pytest.raises(ConfigError, match=f"--rates {rates}"):
        rates_in(rates)


def test_an_unknown_task_is_refused_before_anything_runs() -> None:
    with pytest.raises(ConfigError, match="neighbors"):
        list(runs(tasks="neighbors"))


def test_an_unknown_mechanism_is_refused_before_anything_runs() -> None:
    with pytest.raises(ConfigError, match="perfomer"):
        list(runs(mechanisms="full perfomer:8"))


def test_heads_divide_the_channels() -> None:
    with pytest.raises(ConfigError, match="--heads 3: 64 channels are no multiple of it"):
        list(runs(heads=3))


@pytest.mark.slow
def test_the_study_runs_and_reports(tmp_path: Path) -> None:
    options: dict[str, Any] = {"tasks": "neighbours:8 induction:8", "mechanisms": "full linformer:4,16 gru-micro"}
    records = STUDY.run(tmp_path, **options, seeds=2, rates="1e-2", steps=2, lengths="16", workers=0, progress=False)
    assert not [record["error"] for record in records if "error" in record]
    assert {"scores.csv", "costs.csv", "lengths.csv", "left-out.csv", "untrained.csv", "speed.png", "report.md"} <= {
        p.name for p in tmp_path.iterdir()
    }
