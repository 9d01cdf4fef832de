"""All seeds of a point at once: as each alone, but for rounding."""

from pathlib import Path
from typing import Any

import pytest
import torch

from zoo.bench.grid.engine import Grid
from zoo.bench.grid.results_store import Store
from zoo.bench.learning_curve import execution
from zoo.bench.learning_curve.execution import RunOptions
from zoo.bench.learning_curve.progress import NoProgress
from zoo.bench.learning_curve.training import run_seeds
from zoo.bench.learning_curve.training.run import Run, Training, execute
from zoo.bench.learning_curve.training.run_seeds import execute_seeds
from zoo.bench.seeds.lock_step import LockStep
from zoo.bench.study import execution as study_execution


def runs(model: str, seeds: int = 2, **options: Any) -> list[dict[str, Any]]:
    same: dict[str, Any] = {
        "model": model, "data": "digits", "fingerprint": "", "image_size": None, "size": 40, "steps": 3,
        "batch_size": 16, "optimizer": "adamw", "learning_rate": 1e-3, "weight_decay": 0.05, "warmup": 0.1,
        "augment": False, "precision": "32-true", "device": "cpu",
    }  # fmt: skip
    return [Run(**{**same, **options}, seed=seed).to_dict() for seed in range(seeds)]


@pytest.mark.parametrize("model", ["vit-micro", "resnet-micro"])
def test_each_seed_ends_as_it_would_alone(model: str) -> None:
    together = execute_seeds({"runs": runs(model)})["results"]
    for found, config in zip(together, runs(model), strict=True):
        alone = execute(config)
        assert found["together"] == 2
        assert found["parameters"] == alone["parameters"]
        for (step, loss, _), (at, wanted, _) in zip(found["history"], alone["history"], strict=True):
            assert (step, loss) == (at, pytest.approx(wanted, rel=1e-2))
        assert found["accuracy"] == pytest.approx(alone["accuracy"], abs=0.02)
    assert together[0]["history"] != together[1]["history"]


def test_a_seed_that_fails_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    class Breaks(Training):
        def fit(self, objective: Any) -> Any:
            if self.run.seed == 0:
                raise ValueError("no")
            return super().fit(objective)

    monkeypatch.setattr(run_seeds, "Training", Breaks)
    first, second = execute_seeds({"runs": runs("vit-micro")})["results"]
    assert first["error"] == "ValueError: no"
    assert "accuracy" in second


def test_where_memory_is_short_half_of_them_go_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    class Short(LockStep):
        def run(self, train: Any) -> list[Any]:
            sizes.append(self._members)
            if self._members > 2:
                return [torch.OutOfMemoryError("full")] * self._members
            return super().run(train)

    monkeypatch.setattr(run_seeds, "LockStep", Short)
    found = execute_seeds({"runs": runs("vit-micro", seeds=3, steps=1)})["results"]
    assert sizes == [3, 1, 2]
    assert [result["together"] for result in found] == [1, 2, 2]


@pytest.mark.parametrize(
    ("device", "workers", "joint"), [("cuda", None, True), ("cuda", 1, False), ("cpu", None, False)]
)
def test_a_gpu_trains_all_seeds_at_once(
    device: str, workers: int | None, joint: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = []

    def told(joint: bool) -> Any:
        def complete(*given: Any, **more: Any) -> list[Any]:
            called.append(joint)
            return []

        return complete

    monkeypatch.setattr(execution, "_seeds_at_once", told(True))
    monkeypatch.setattr(study_execution, "complete", told(False))
    asked = [Run(**config) for config in runs("vit-micro", device=device)]
    execution.complete(asked, Store(tmp_path), RunOptions(workers=workers), NoProgress())
    assert called == [joint]


@pytest.mark.slow
def test_a_study_of_seeds_at_once_is_stored_run_by_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a CPU, in a worker process of its own."""
    asked = [Run(**config) for config in runs("vit-micro", seeds=3)]
    grid = Grid(execution.WORK, [run.to_dict() for run in asked], Store(tmp_path))
    records = execution._seeds_at_once(grid, RunOptions(), NoProgress())
    assert [(record["config"]["seed"], record["together"]) for record in records] == [(0, 3), (1, 3), (2, 3)]
    assert len(Store(tmp_path).records) == 3


def test_a_seed_whose_test_fails_costs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Training.result

    def result(self: Training, outcome: Any) -> dict[str, Any]:
        if self.run.seed:
            raise OSError("no such file")
        return told(self, outcome)

    monkeypatch.setattr(Training, "result", result)
    first, second = execute_seeds({"runs": runs("vit-micro", steps=1)})["results"]
    assert "accuracy" in first
    assert second["error"] == "OSError: no such file"
