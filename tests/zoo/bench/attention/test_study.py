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


def test_own_data_take_the_place_of_the_tasks_and_are_known_by_their_content(tmp_path: Path) -> None:
    place = tmp_path / "own.txt"
    place.write_text("ab" * 300)
    found = [config for config in runs(data=f"text:{place},8", fast=True) if config["part"] != "untrained"]
    assert {config["task"] for config in found} == {f"text:{place},8"}
    assert len({config["content"] for config in found}) == 1
    beside = list(runs(data=f"text:{place},8", tasks="neighbours:8", fast=True))
    assert {config["task"]: "content" in config for config in beside if "task" in config} == {
        "neighbours:8": False,
        f"text:{place},8": True,
    }
    with pytest.raises(ConfigError, match="--data digits"):
        list(runs(data="digits"))


def test_self_pretraining_adds_runs_and_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    more = list(runs(self_pretrain=True, fast=True))
    assert [config for config in more if "self_pretrain" not in config] == list(runs(fast=True))
    added = [config for config in more if "self_pretrain" in config]
    assert len(added) == sum(config["part"] == "score" for config in runs(fast=True))
    (tmp_path / "own.txt").write_text("ab" * 300)
    with pytest.raises(ConfigError, match="--self-pretrain: text:"):
        list(runs(data=f"text:{tmp_path / 'own.txt'},8", self_pretrain=True))


@pytest.mark.slow
def test_the_study_runs_and_reports(tmp_path: Path) -> None:
    options: dict[str, Any] = {"tasks": "neighbours:8 induction:8", "mechanisms": "full linformer:4,16 gru-micro"}
    records = STUDY.run(tmp_path, **options, seeds=2, rates="1e-2", steps=2, lengths="16", workers=0, progress=False)
    assert not [record["error"] for record in records if "error" in record]
    assert {"scores.csv", "costs.csv", "lengths.csv", "left-out.csv", "untrained.csv", "speed.png", "report.md"} <= {
        p.name for p in tmp_path.iterdir()
    }
