"""Trainings that take each step together: as each alone, whatever becomes of the others."""

from copy import deepcopy
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from zoo.bench.seeds import lock_step
from zoo.bench.seeds.joint_gradients import joint_losses
from zoo.bench.seeds.lock_step import LockStep
from zoo.data.corpus import Batch
from zoo.training.loop import Objective, Plan, fit, plain
from zoo.training.resume.train_state import DivergedError, Outcome

pytestmark = pytest.mark.usefixtures("float64")


class Reads(nn.Linear):
    """A layer that looks at a value, which has no rule for several models."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) if x.sum().item() < 1e9 else x


def trained(model: nn.Module, batches: list[Batch], objective: Objective) -> Outcome:
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    plan = Plan(steps=len(batches), schedule=lambda step: 1.0, validations=2)
    return fit(model, objective, batches, [optimizer], plan=plan, fabric=Fabric(accelerator="cpu", devices=1))


def models_and_batches(made: type[nn.Linear] = nn.Linear, rows: int = 4) -> tuple[list[nn.Module], list[list[Batch]]]:
    models: list[nn.Module] = [made(3, 2) for _ in range(3)]
    drawn = [Batch((torch.randn(rows, 3),), torch.randint(2, (rows,))) for _ in range(12)]
    return models, [drawn[:4], drawn[4:8], drawn[8:]]


def together(models: list[nn.Module], batches: list[list[Batch]]) -> tuple[LockStep, list[Any]]:
    steps = LockStep(len(models), cross_entropy)
    return steps, steps.run(lambda i, objective: trained(models[i], batches[i], objective))


@pytest.mark.parametrize(("made", "joint"), [(nn.Linear, True), (Reads, False)])
def test_each_ends_as_it_would_alone(made: type[nn.Linear], joint: bool) -> None:
    models, batches = models_and_batches(made)
    alone = deepcopy(models)
    steps, outcomes = together(models, batches)
    assert steps.together is joint
    for model, own, its, outcome in zip(models, alone, batches, outcomes, strict=True):
        wanted = trained(own, its, plain(cross_entropy))
        assert outcome.history[-1].loss == pytest.approx(wanted.history[-1].loss, rel=1e-12)
        torch.testing.assert_close(dict(model.state_dict()), dict(own.state_dict()))


def test_equal_batches_are_computed_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    models, batches = models_and_batches()
    sizes = []

    def counted(models: Any, *rest: Any) -> list[Tensor]:
        sizes.append(len(models))
        return joint_losses(models, *rest)

    monkeypatch.setattr(lock_step, "joint_losses", counted)
    together(models, batches)
    assert sizes == [3] * 4


def test_batches_of_other_shapes_are_computed_one_by_one() -> None:
    models, batches = models_and_batches()
    alone = deepcopy(models)
    batches[1] = [Batch((batch.inputs[0][:2],), batch.target[:2]) for batch in batches[1]]
    steps, _ = together(models, batches)
    assert steps.together
    trained(alone[1], batches[1], plain(cross_entropy))
    torch.testing.assert_close(dict(models[1].state_dict()), dict(alone[1].state_dict()))


def test_one_that_diverges_stops_no_other() -> None:
    models, batches = models_and_batches()
    batches[0] = [Batch((batch.inputs[0] * float("nan"),), batch.target) for batch in batches[0]]
    _, (first, *others) = together(models, batches)
    assert isinstance(first, DivergedError)
    assert [outcome.steps for outcome in others] == [4, 4]


def test_a_lack_of_memory_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: Any) -> None:
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(lock_step, "joint_losses", full)
    _, found = together(*models_and_batches())
    assert [type(error) for error in found] == [torch.OutOfMemoryError] * 3


@pytest.mark.parametrize("error", [ValueError, TypeError, IndexError])
def test_whatever_a_joint_pass_raises_each_goes_on_alone(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: Any) -> None:
        raise error("no rule")

    monkeypatch.setattr(lock_step, "joint_losses", broken)
    steps, outcomes = together(*models_and_batches())
    assert not steps.together
    assert [outcome.steps for outcome in outcomes] == [4, 4, 4]
