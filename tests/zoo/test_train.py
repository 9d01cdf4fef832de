import math
from itertools import repeat
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from torch import nn
from torch.nn.functional import mse_loss

from zoo.errors import ZooError
from zoo.optimizers import optimizers_for, trapezoid
from zoo.train import (
    Batch,
    DivergedError,
    Outcome,
    bf16_gain,
    profitable_precision,
    shuffled,
    train,
)

Parts = tuple[nn.Linear, Batch, Fabric]


@pytest.fixture
def parts() -> Parts:
    torch.manual_seed(0)
    fabric = Fabric(accelerator="cpu", devices=1)
    model = nn.Linear(3, 1)
    x = torch.randn(16, 3)
    batch = ((x,), x.sum(1, keepdim=True))
    return model, batch, fabric


def fit(parts: Parts, steps: int = 60, **options: Any) -> Outcome:
    model, batch, fabric = parts
    settings: dict[str, Any] = {"schedule": trapezoid(steps), "fabric": fabric, "steps": steps} | options
    batches = settings.pop("batches", repeat(batch))
    return train(model, mse_loss, batches, optimizers_for("adamw", model, 0.1, 0.0), **settings)


def test_training_learns(parts: Parts) -> None:
    outcome = fit(parts)
    model, ((x,), y), _ = parts
    assert mse_loss(model(x), y) < 0.01
    assert outcome.history[0][1] > outcome.history[-1][1]


def test_the_best_checkpoint_is_kept(parts: Parts) -> None:
    model = parts[0]
    seen: list[torch.Tensor] = []

    def validate(model: nn.Module) -> float:
        seen.append(model.weight.detach().clone())
        return -abs(len(seen) - 2.0)  # the second is the best

    outcome = fit(parts, validate=validate)
    assert outcome.best_step == 24
    assert torch.equal(model.weight, seen[1])


def test_validation_sees_a_model_in_evaluation(parts: Parts) -> None:
    modes: list[bool] = []

    def validate(model: nn.Module) -> float:
        modes.append(model.training)
        return 0.0

    fit(parts, validate=validate)
    assert modes == [False] * 5
    assert parts[0].training


def test_a_loss_that_is_not_finite_is_an_error(parts: Parts) -> None:
    model, ((x,), y), fabric = parts
    with pytest.raises(DivergedError, match="the loss is nan by step 2"):
        fit((model, ((x * math.nan,), y), fabric), steps=10)


def test_batches_that_end_early_are_an_error(parts: Parts) -> None:
    with pytest.raises(ZooError, match="the batches ended after 1 steps"):
        fit(parts, steps=3, batches=[parts[1]])


def test_shuffled_batches_hold_each_example_once_an_epoch() -> None:
    batches = shuffled(6, 2, torch.Generator().manual_seed(0))
    assert sorted(torch.cat([next(batches) for _ in range(3)]).tolist()) == list(range(6))


def test_a_set_smaller_than_a_batch_is_one_batch() -> None:
    assert len(next(shuffled(3, 8, torch.Generator()))) == 3


@pytest.mark.parametrize(("gain", "expected"), [(1.9, "32-true"), (2.0, "bf16-mixed"), (8.0, "bf16-mixed")])
def test_precision_follows_the_measured_gain(monkeypatch: pytest.MonkeyPatch, gain: float, expected: str) -> None:
    monkeypatch.setattr("torch.accelerator.is_available", lambda: False)
    monkeypatch.setattr("zoo.train.bf16_gain", lambda: gain)
    assert profitable_precision.__wrapped__() == expected


def test_the_gain_is_a_ratio_of_two_times() -> None:
    assert 0 < bf16_gain.__wrapped__(side=64, repeats=1) < math.inf
