import csv
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from lightning_fabric.loggers.logger import Logger

import zoo
from zoo import MissingLibraryError

OPTIONS: dict[str, Any] = {
    "steps": 4, "batch_size": 8, "validations": 2, "precision": "32-true", "accelerator": "cpu", "depth": 1, "dim": 16,
    "num_heads": 2, "mlp_dim": 16, "patch_size": 4, "image_size": 8,
}  # fmt: skip


class Memory(Logger):
    """Be a logger of Fabric's interface, as those of Weights & Biases are, that keeps what it is told."""

    made: dict[str, Any]

    name, version = "memory", 0

    def __init__(self, **options: Any) -> None:
        self.logged: list[Any] = []
        self.ended = ""
        type(self).made = options

    def log_hyperparams(self, params: Any, *more: Any, **others: Any) -> None:
        """Keep nothing."""

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.logged.append((step, metrics))

    def save(self) -> None:
        """Keep nothing."""

    def finalize(self, status: str) -> None:
        self.ended = status


def names(data: Any) -> set[str]:
    return {"train/loss", "train/learning_rate", "validation/accuracy", "validation/loss", "test/accuracy", "test/loss"}


def test_a_csv_file_has_losses_rates_and_scores(quadrants: Any, tmp_path: Path) -> None:
    trained = zoo.train("vit-micro", quadrants, out=tmp_path / "out", logger="csv", **OPTIONS)
    with (tmp_path / "out/logs/version_0/metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert set(rows[0]) == names(rows) | {"step"}
    tested = [row for row in rows if row["test/accuracy"]]
    assert [float(row["test/accuracy"]) for row in tested] == [trained.scores["accuracy"]]
    assert [int(row["step"]) for row in rows if row["train/loss"]] == [1, 2, 3, 4]
    assert [int(row["step"]) for row in rows if row["validation/loss"]] == [2, 4]
    zoo.train("vit-micro", quadrants, out=tmp_path / "out", logger="csv", overwrite=True, **OPTIONS)
    assert [path.name for path in (tmp_path / "out/logs").iterdir()] == ["version_0"]


def test_a_logger_of_the_user_is_told_the_same(quadrants: Any) -> None:
    logger = Memory()
    trained = zoo.train("vit-micro", quadrants, logger=logger, **OPTIONS)
    assert {name for _, metrics in logger.logged for name in metrics} == names(logger)
    assert logger.logged[-1] == (4, {f"test/{name}": score for name, score in trained.scores.items()})
    assert logger.ended == "success"


def test_weights_and_biases_gets_the_facts_of_the_training(
    quadrants: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = ModuleType("wandb.integration.lightning.fabric")
    stand_in.WandbLogger = Memory  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb.integration.lightning.fabric", stand_in)
    monkeypatch.setattr("zoo.training.callbacks.log_scores.require", lambda what, needs: None)
    zoo.train("vit-micro", quadrants, out=tmp_path / "run", logger="wandb", **OPTIONS)
    assert (Memory.made["name"], Memory.made["project"]) == ("run", "zoo")
    assert Memory.made["config"]["model"] == "vit-micro"
    assert Memory.made["config"]["settings"]["steps"] == 4


@pytest.mark.parametrize("name", ["tensorboard", "wandb"])
def test_a_library_that_is_missing_is_named_with_its_installation(
    quadrants: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    there = ("lightning_fabric", "lightning", "timm", "PIL", "datasets")
    monkeypatch.setattr("zoo.registry.entry_loading._installed", lambda module: module in there)
    with pytest.raises(MissingLibraryError, match=f'pip install "?{name}'):
        zoo.train("vit-micro", quadrants, logger=name, **OPTIONS)


@pytest.mark.slow
def test_tensorboard_writes_events(quadrants: Any, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    zoo.train("vit-micro", quadrants, out=tmp_path / "out", logger="tensorboard", **OPTIONS)
    events = EventAccumulator(str(tmp_path / "out/logs/version_0"))
    events.Reload()
    assert set(events.Tags()["scalars"]) == names(events)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_weights_and_biases_writes_a_run_without_a_network(
    quadrants: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb")
    pytest.importorskip("lightning")
    monkeypatch.setenv("WANDB_MODE", "offline")
    zoo.train("vit-micro", quadrants, out=tmp_path / "out", logger="wandb", **OPTIONS)
    (run,) = (tmp_path / "out/logs/wandb").glob("offline-run-*/*.wandb")
    assert run.stat().st_size > 0
