"""Snapshots of trainings whose weights are parted: whole, as of the module in training, and set back into its parts."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor

from zoo.core.models.generator import Generator
from zoo.data.corpus import Batch
from zoo.errors import WeightsError
from zoo.training.distributed.fsdp import follow, shard
from zoo.training.resume.train_state import Training

Make = Callable[..., Generator]


@pytest.fixture
def started(copier: Make, copies: Batch, alone: DeviceMesh) -> Callable[[], Training]:
    """Start trainings with parted weights, each one step on."""

    def start() -> Training:
        model: Any = copier()
        trained = shard(copy.deepcopy(model), alone)
        optimizer = torch.optim.Adam(model.parameters(), 0.1)
        follow([optimizer], model, trained)
        training = Training(model, trained, [optimizer], Fabric(accelerator="cpu", devices=1))
        step(training, copies)
        return training

    return start


def step(training: Training, batch: Batch) -> None:
    (optimizer,) = training.optimizers
    training.trained(*batch.inputs).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def test_a_snapshot_is_whole_and_of_the_module_in_training(started: Callable[[], Training], copier: Make) -> None:
    snapshot = started().snapshot()
    assert not any(isinstance(value, DTensor) for group in snapshot.tensors.values() for value in group.values())
    before = copier().state_dict()["target.embed.weight"]
    assert not torch.equal(snapshot.tensors["model"]["target.embed.weight"], before)


def test_a_training_goes_back_to_a_snapshot(started: Callable[[], Training], copies: Batch) -> None:
    training, other = started(), started()
    snapshot = copy.deepcopy(training.snapshot())
    step(training, copies)
    step(other, copies)
    step(other, copies)
    other.restore(snapshot)
    step(other, copies)
    wanted = training.snapshot().tensors
    torch.testing.assert_close(other.snapshot().tensors, wanted, rtol=0, atol=0)


def test_the_model_that_is_judged_has_the_weights_of_the_one_in_training(started: Callable[[], Training]) -> None:
    training = started()
    with training.evaluated() as model:
        assert isinstance(model, Generator)
        given = {key: value.clone() for key, value in model.state_dict().items()}
    torch.testing.assert_close(given, training.snapshot().tensors["model"], rtol=0, atol=0)


def test_a_snapshot_of_more_parameters_does_not_fit(started: Callable[[], Training]) -> None:
    training = started()
    snapshot = training.snapshot()
    snapshot.tensors["optimizer"]["0.99.exp_avg"] = torch.zeros(2)
    with pytest.raises(WeightsError, match="the checkpoint of step 0 does not fit: 99"):
        training.restore(snapshot)
