"""The file of kept rates is made by one command, which trains nothing twice."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from zoo.bench.learning_curve import keep_rates
from zoo.bench.learning_curve.config import StudyConfig
from zoo.bench.learning_curve.contestants import recipes
from zoo.bench.learning_curve.contestants.recipes import RATES, RECIPE
from zoo.bench.learning_curve.execution import RunOptions
from zoo.bench.learning_curve.plan import plan
from zoo.bench.learning_curve.training.tuning import kept, pilot_budget
from zoo.errors import DataError


def test_the_pilot_of_each_optimizer_is_kept_and_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "RECIPE", replace(RECIPE, rates=(1e-3, 1e-2)))
    small = partial(StudyConfig, models=["vit-micro"], data="digits", sizes=[10], steps=1, precision="32-true")
    studies = [small(seeds=2, optimizer=optimizer) for optimizer in keep_rates.OPTIMIZERS]
    monkeypatch.setattr(keep_rates, "studies", lambda: studies)
    monkeypatch.setattr(keep_rates, "RunOptions", partial(RunOptions, workers=0))
    for _ in range(2):
        keep_rates.main(tmp_path / "out", tmp_path / "rates.json")
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == 2 * 2 * 2
    found = json.loads((tmp_path / "rates.json").read_text())
    assert found["command"] == "python -m zoo.bench.learning_curve.keep_rates"
    assert [entry["config"]["optimizer"] for entry in found["rates"]] == ["muon-hidden", "adamw"]
    assert [[rate for rate, _ in entry["scores"]] for entry in found["rates"]] == [[1e-3, 1e-2]] * 2


def _studies() -> list[Any]:
    """Give the studies; those of cards are quick, others speak digits or draw thousands of texts and graphs first."""
    return [
        pytest.param(
            config,
            id=f"{config.data}-{config.steps}",
            marks=[] if config.data == "cards" else [pytest.mark.slow],
        )
        for config in keep_rates.studies()
    ]


@pytest.mark.parametrize("config", _studies())
def test_the_package_keeps_the_rates_of_these_studies(config: StudyConfig, tmp_path: Path) -> None:
    """Where this fails, a recipe or a source has changed: the command of `rates.json` has to be run again."""
    try:
        study, runs = plan(replace(config, precision="32-true"), tmp_path)
    except DataError as error:
        pytest.skip(str(error))
    budget = pilot_budget(study.steps, study.seeds)
    firsts = {run.model: run for run in runs}.values()
    found = [kept(run, budget.steps) for run in firsts]
    if config.data == "spoken-digits" and None in found:
        pytest.skip("rates are kept for what another version of espeak-ng speaks")
    assert len(found) == len(config.models)
    for tuning in found:
        assert tuning is not None
        assert tuning.kept
        assert (tuning.size, tuning.steps, tuple(tuning.seeds)) == (budget.size, budget.steps, budget.seeds)
        assert tuple(rate for rate, _ in tuning.scores) == RATES
        best = max(score for _, score in tuning.scores if score is not None)
        assert dict(tuning.scores)[tuning.learning_rate] == best
