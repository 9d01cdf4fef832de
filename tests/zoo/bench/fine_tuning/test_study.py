"""The study's runs, and the whole of a small one."""

from pathlib import Path
from typing import Any

import pytest

import zoo
from zoo.bench.fine_tuning.study import STUDY, runs
from zoo.bench.fine_tuning.training import WAYS, count_trained


def test_every_way_has_the_same_examples() -> None:
    asked = list(runs(fast=True))
    assert len(asked) == len(WAYS) * 2
    assert {(run["each"], run["seed"]) for run in asked} == {(20, 0), (20, 1)}


def test_unknown_ways_and_data_of_few_classes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(zoo.ConfigError, match="--ways half: it is one of from scratch, probe"):
        list(runs(ways="half"))


def test_a_probe_trains_the_head_alone_and_low_rank_less_than_the_whole() -> None:
    fitting = {"num_classes": 5, "dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16, "image_size": 8, "patch_size": 4}
    counts = {way: count_trained("vit-micro", fitting, way) for way in WAYS}
    assert counts["probe"] == counts["frozen encoder"] == 5 * 17
    assert counts["probe"] < counts["lora"] < counts["whole"] == counts["from scratch"]


@pytest.mark.slow
def test_a_small_study_runs_and_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    options: dict[str, Any] = {
        "data": "digits",
        "ways": "from scratch,probe",
        "examples": "5",
        "steps": 40,
        "pretraining_steps": 150,
        "seeds": 2,
    }
    records = STUDY.run(tmp_path / "study", workers=0, progress=False, **options)
    assert [record.get("error") for record in records] == [None] * 4
    assert all(0 <= record["accuracy"] <= 1 for record in records)
    assert "5 examples of each new class" in (tmp_path / "study" / "report.md").read_text()
