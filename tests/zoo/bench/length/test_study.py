from pathlib import Path
from typing import Any

import pytest

from zoo.bench.length.families import FAMILIES
from zoo.bench.length.recall import RATES
from zoo.bench.length.study import STUDY, measures_time, runs, shapes


def parts(**options: Any) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {"recall": [], "model": [], "layer": []}
    for config in runs(**options):
        found[config["part"]].append(config)
    return found


def test_every_family_has_the_same_budget() -> None:
    found = parts(distances="8,16", lengths="32", seeds=2, steps=5)
    assert len(found["recall"]) == len(FAMILIES) * 2 * 2 * len(RATES)
    budgets = {family: [] for family in FAMILIES}  # type: dict[str, list[Any]]
    for config in found["recall"]:
        budgets[config["family"]].append({key: value for key, value in config.items() if key != "family"})
    assert all(budget == budgets["GRU"] for budget in budgets.values())
    assert len(found["layer"]) == len(FAMILIES) * len(shapes())


def test_what_measures_time_is_known_by_its_processor_and_what_learns_is_not() -> None:
    for part, configs in parts(fast=True).items():
        assert all(measures_time(config) == ("processor" in config) == (part != "recall") for config in configs)


@pytest.mark.slow
def test_the_study_runs_and_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.bench.length.study.shapes", lambda: [(32, 16), (64, 16)])
    records = STUDY.run(tmp_path, distances="2", lengths="16", seeds=1, steps=2, workers=0, progress=False)
    assert not [record["error"] for record in records if "error" in record]
    assert {"recall.csv", "costs.csv", "length.png", "report.md"} <= {path.name for path in tmp_path.iterdir()}
