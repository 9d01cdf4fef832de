"""The file of kept rates is made by one command, which trains nothing twice."""

import json
from functools import partial
from pathlib import Path

import pytest

from zoo.bench.learning_curve import keep_rates
from zoo.bench.learning_curve.config import MODELS, StudyConfig
from zoo.bench.learning_curve.execution import RunOptions
from zoo.bench.learning_curve.plan import plan
from zoo.bench.learning_curve.tuning import RATES, SEED, kept


def test_the_pilot_of_each_optimizer_is_kept_and_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = partial(StudyConfig, models=["vit-micro"], data="digits", sizes=[10], steps=1, precision="32-true")
    monkeypatch.setattr(keep_rates, "StudyConfig", small)
    monkeypatch.setattr(keep_rates, "RunOptions", partial(RunOptions, workers=0))
    for _ in range(2):
        keep_rates.main(tmp_path / "out", tmp_path / "rates.json")
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == 2 * len(RATES)
    found = json.loads((tmp_path / "rates.json").read_text())
    assert found["command"] == "python -m zoo.bench.learning_curve.keep_rates"
    assert [entry["config"]["optimizer"] for entry in found["rates"]] == ["muon-hidden", "adamw"]
    assert [[rate for rate, _ in entry["scores"]] for entry in found["rates"]] == [list(RATES)] * 2


@pytest.mark.parametrize("optimizer", keep_rates.OPTIMIZERS)
def test_the_package_keeps_the_rates_of_the_default_study(optimizer: str, tmp_path: Path) -> None:
    """Where this fails, a recipe or `cards` has changed: the command of `rates.json` has to be run again."""
    cards = plan(StudyConfig(optimizer=optimizer, sizes=[20], seeds=1, precision="32-true"), tmp_path)[1]
    found = [kept(run) for run in cards]
    assert len(found) == len(MODELS)
    budgets = set()
    for tuning in found:
        assert tuning is not None
        assert tuning.kept
        assert tuple(rate for rate, _ in tuning.scores) == RATES
        best = max(score for _, score in tuning.scores if score is not None)
        assert dict(tuning.scores)[tuning.learning_rate] == best
        assert tuning.seed == SEED
        budgets.add((tuning.size, tuning.steps, len(tuning.scores)))
    assert len(budgets) == 1
