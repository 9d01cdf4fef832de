import math
from collections.abc import Iterator
from itertools import cycle, repeat
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from torch import nn
from torch.nn.functional import mse_loss

from zoo.core.losses.loss import cross_entropy
from zoo.data.corpus import Batch
from zoo.errors import ConfigError, ZooError
from zoo.training.callbacks.callback import Callback, Request
from zoo.training.criterion import Criterion
from zoo.training.loop import DivergedError, Outcome, Plan, fit, plain, shuffled
from zoo.training.optimization.optimizers import optimizers_for, trapezoid

Parts = tuple[nn.Linear, Batch, Fabric]


@pytest.fixture
def parts() -> Parts:
    return made("cpu")


def made(accelerator: str) -> Parts:
    torch.manual_seed(0)
    fabric = Fabric(accelerator=accelerator, devices=1)
    model = nn.Linear(3, 1)
    x = torch.randn(16, 3)
    return model, Batch((x,), x.sum(1, keepdim=True)), fabric


def run(parts: Parts, steps: int = 60, **options: Any) -> Outcome:
    model, batch, fabric = parts
    plan = {name: options.pop(name) for name in list(options) if name in Plan.__dataclass_fields__}
    settings: dict[str, Any] = {
        "plan": Plan(steps=steps, schedule=trapezoid(steps), **plan),
        "fabric": fabric,
    } | options
    objective = plain(settings.pop("loss", mse_loss))
    batches = settings.pop("batches", repeat(batch))
    return fit(model, objective, batches, optimizers_for("adamw", model, 0.1, 0.0), **settings)


def test_training_learns(device: torch.device) -> None:
    parts = made(device.type)
    outcome = run(parts)
    model, ((x,), y), _ = parts
    assert mse_loss(model.cpu()(x), y) < 0.01
    assert outcome.history[0].loss > outcome.history[-1].loss


def test_the_best_checkpoint_is_kept(parts: Parts) -> None:
    model = parts[0]
    seen: list[torch.Tensor] = []

    def validate(model: nn.Module) -> dict[str, float]:
        seen.append(model.weight.detach().clone())
        return {"score": -abs(len(seen) - 2.0), "other": 7.0}  # the second is the best

    outcome = run(parts, validate=validate)
    assert outcome.best_step == 24
    assert torch.equal(model.weight, seen[1])
    assert outcome.history[1].scores == {"score": 0.0, "other": 7.0}


def test_validation_sees_a_model_in_evaluation(parts: Parts) -> None:
    modes: list[bool] = []

    def validate(model: nn.Module) -> dict[str, float]:
        modes.append(model.training)
        return {"score": 0.0}

    run(parts, validate=validate)
    assert modes == [False] * 5
    assert parts[0].training


def test_a_loss_that_is_not_finite_is_an_error(parts: Parts) -> None:
    model, ((x,), y), fabric = parts
    with pytest.raises(DivergedError, match="the loss is nan by step 2"):
        run((model, Batch((x * math.nan,), y), fabric), steps=10)


def test_batches_that_end_early_are_an_error(parts: Parts) -> None:
    with pytest.raises(ZooError, match="the batches ended after step 1"):
        run(parts, steps=3, batches=[parts[1]])


def test_patience_ends_a_training_that_gets_no_better(parts: Parts) -> None:
    scores = iter([1.0, 3.0, 2.0, 3.0, 9.0])
    outcome = run(parts, validate=lambda model: {"score": next(scores)}, patience=2)
    assert (outcome.steps, outcome.best_step, outcome.ended) == (48, 48, "patience")


def test_patience_waits_until_the_metric_leaves_its_floor(parts: Parts) -> None:
    scores = iter([0.0, 0.0, 0.0, 0.0, 1.0])
    outcome = run(parts, validate=lambda model: {"score": next(scores)}, patience=1)
    assert (outcome.steps, outcome.best_step, outcome.ended) == (60, 60, "all steps")


def test_where_the_metric_is_equal_the_loss_chooses_the_weights(parts: Parts) -> None:
    model, seen = parts[0], list[torch.Tensor]()
    losses = iter([5.0, 4.0, 2.0, 3.0, 2.5])

    def validate(model: nn.Module) -> dict[str, float]:
        seen.append(model.weight.detach().clone())
        return {"accuracy": 0.1, "loss": next(losses)}

    outcome = run(parts, validate=validate)
    assert (outcome.best_step, outcome.best_score) == (36, 0.1)
    assert torch.equal(model.weight, seen[2])
    assert outcome.best_by == "by loss 2.0000, at equal accuracy 0.1000"


def test_another_criterion_chooses_by_another_score(parts: Parts) -> None:
    losses = iter([5.0, 4.0, 2.0, 3.0, 2.5])
    outcome = run(
        parts, validate=lambda model: {"a": 0.0, "perplexity": next(losses)}, criterion=Criterion("perplexity")
    )
    assert (outcome.best_step, outcome.best_score) == (36, -2.0)


def test_gradients_that_are_added_up_equal_one_large_batch(parts: Parts) -> None:
    """Also where the batches ask for different numbers of places."""
    _, _, fabric = parts
    inputs = torch.randn(6, 4, 3)
    target = torch.randint(0, 5, (6, 4))
    target[0, 1:], target[2] = -100, -100
    whole = Batch((inputs,), target)
    pieces = [Batch((inputs[i : i + 2],), target[i : i + 2]) for i in (0, 2, 4)]
    weights = []
    for batches, accumulate in (([whole], 1), (pieces, 3)):
        torch.manual_seed(1)
        model = nn.Linear(3, 5).double()
        fed = cycle([Batch((b.inputs[0].double(),), b.target) for b in batches])
        plan = Plan(steps=5, schedule=lambda step: 1.0, accumulate=accumulate)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        outcome = fit(model, plain(cross_entropy), fed, [optimizer], plan=plan, fabric=fabric)
        weights.append((model.weight.detach(), outcome.history[-1].loss))
    torch.testing.assert_close(weights[0][0], weights[1][0], atol=1e-12, rtol=0)
    assert weights[0][1] == pytest.approx(weights[1][1])


def test_a_gradient_is_clipped_to_its_norm(parts: Parts) -> None:
    model, batch, fabric = parts
    before = model.weight.detach().clone(), model.bias.detach().clone()
    plan = Plan(steps=1, schedule=lambda step: 1.0, clip=0.01, validations=1)
    optimizer = torch.optim.SGD(model.parameters(), 1.0)
    fit(model, plain(mse_loss), [batch], [optimizer], plan=plan, fabric=fabric)
    moved = torch.cat([(model.weight - before[0]).flatten(), model.bias - before[1]])
    assert float(moved.detach().norm()) == pytest.approx(0.01, rel=1e-4)


def test_a_watch_hears_of_steps_and_validations_and_may_end_them(parts: Parts) -> None:
    class Listens(Callback):
        def __init__(self) -> None:
            self.steps: list[int] = []
            self.saved: list[int] = []

        def on_step(self, step: int, loss: torch.Tensor) -> None:
            self.steps.append(step)

        def request(self) -> Request:
            return Request(save=len(self.steps) == 2, stop=len(self.steps) == 6)

        def on_checkpoint(self, snapshot: Any) -> None:
            self.saved.append(snapshot.step)

    watch = Listens()
    outcome = run(parts, steps=20, validations=5, callback=watch)
    assert watch.steps == [1, 2, 3, 4, 5, 6, 7]
    assert watch.saved == [3, 4, 7]  # wished for, validated, ended
    assert (outcome.steps, outcome.ended) == (7, "asked to")


@pytest.mark.parametrize("name", ["steps", "accumulate", "validations", "patience"])
def test_a_plan_of_nothing_is_refused(name: str) -> None:
    values: dict[str, Any] = {"steps": 3, name: 0}
    with pytest.raises(ConfigError, match=f"{name}=0: at least 1 is needed"):
        Plan(schedule=lambda step: 1.0, **values)


def test_mixed_precision_multiplies_in_bf16_and_keeps_float32(parts: Parts) -> None:
    kinds: set[torch.dtype] = set()

    class Spy(nn.Linear):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            answer = super().forward(input)
            kinds.add(answer.dtype)
            return answer

    model = Spy(3, 1)
    fabric = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
    run((model, parts[1], fabric), steps=3, validations=1)
    assert kinds == {torch.bfloat16}
    assert model.weight.dtype == torch.float32


def test_shuffled_batches_hold_each_example_once_an_epoch() -> None:
    batches: Iterator[torch.Tensor] = shuffled(6, 2, torch.Generator().manual_seed(0))
    assert sorted(torch.cat([next(batches) for _ in range(3)]).tolist()) == list(range(6))


def test_a_set_smaller_than_a_batch_is_one_batch() -> None:
    assert len(next(shuffled(3, 8, torch.Generator()))) == 3


def test_the_loss_that_a_model_computes_itself_is_in_the_precision_of_the_training() -> None:
    class Own(nn.Linear):
        def training_loss(self, x: torch.Tensor) -> torch.Tensor:
            seen.append(self(x).dtype)
            return self(x).float().square().mean()

    seen: list[torch.dtype] = []
    fabric = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
    model, batch = Own(3, 1), Batch((torch.randn(4, 3),), torch.zeros(4, 1))
    plan = Plan(steps=1, schedule=trapezoid(1))
    fit(
        model, lambda forward, batch, step: forward.training_loss(*batch.inputs), repeat(batch),
        optimizers_for("adamw", model, 0.1, 0.0), plan=plan, fabric=fabric,
    )  # fmt: skip
    assert seen == [torch.bfloat16]
