"""Gradients of several models at once against those of each model alone."""

from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import zoo
from zoo.bench.seeds.joint_gradients import joint_losses
from zoo.data.corpus import Batch

pytestmark = pytest.mark.usefixtures("float64")


def drawn(name: str, count: int = 3, **options: Any) -> tuple[list[nn.Module], list[Batch]]:
    models = [zoo.create(name, num_classes=4, **options).train() for _ in range(count)]
    (x,) = zoo.example(name, 5)
    return models, [Batch((torch.randn(x.shape),), torch.randint(4, (5,))) for _ in models]


@pytest.mark.parametrize(
    ("name", "options"), [("vit-micro", {"depth": 1}), ("resnet-micro", {}), ("hybrid-micro", {"depth": 1})]
)
def test_losses_gradients_and_statistics_are_those_of_each_model(name: str, options: dict[str, Any]) -> None:
    models, batches = drawn(name, **options)
    alone = deepcopy(models)
    losses = joint_losses(models, batches, cross_entropy)
    for i, (model, batch) in enumerate(zip(alone, batches, strict=True)):
        loss = cross_entropy(model(*batch.inputs), batch.target)
        loss.backward()
        torch.testing.assert_close(losses[i].detach(), loss.detach())
        (2 * losses[i]).backward()
        for own, wanted in zip(models[i].parameters(), model.parameters(), strict=True):
            torch.testing.assert_close(own.grad, 2 * wanted.grad)
        for name, buffer in model.named_buffers():
            torch.testing.assert_close(models[i].get_buffer(name), buffer)


def test_frozen_weights_have_no_gradients() -> None:
    models, batches = drawn("vit-micro", depth=1)
    for model in models:
        model.stem.requires_grad_(False)
    joint_losses(models, batches, cross_entropy)[0].backward()
    assert all(x.grad is None for x in models[0].stem.parameters())
    assert all(x.grad is not None for x in models[0].encoder.parameters())


def test_models_that_drop_drop_differently() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 64), nn.Dropout(0.5), nn.Linear(64, 3))
    batch = Batch((torch.randn(4, 8),), torch.tensor([0, 1, 2, 0]))
    losses = joint_losses([model, deepcopy(model)], [batch, batch], cross_entropy)
    assert losses[0] != losses[1]
