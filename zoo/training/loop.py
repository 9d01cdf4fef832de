"""The one training loop of the house, on Lightning Fabric: device, precision and strategy are Fabric's.

Whoever trains brings the parts: a model, an objective, batches, optimisers, a plan, and a validation to choose the
checkpoint by. The loop reads nothing back from the device between two validations, unless processes have to agree.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.distributed.fsdp import register_fsdp_forward_method
from torch.optim import Optimizer

from zoo.core.losses.loss import count_asked
from zoo.core.models.model import has_own_loss
from zoo.data.corpus import Batch
from zoo.errors import ConfigError, ZooError
from zoo.training.callbacks.callback import Callback, Request
from zoo.training.checkpoint import Snapshot
from zoo.training.distributed.fsdp import copy_weights, follow, in_training
from zoo.training.optimizers import Schedule
from zoo.training.train_state import DivergedError, Outcome, Training, Validation

__all__ = ["DivergedError", "Objective", "Outcome", "Plan", "Validation", "fit", "plain", "shuffled"]

Objective = Callable[[Any, Batch, int], Tensor]
"""Model, batch and step to one number: the mean over what the batch asks. The model is called as Fabric wrapped it."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Say how a training goes.

    Args:
        steps: of the optimisers.
        schedule: factor of the learning rate at each step.
        clip: largest norm of the gradient, of each optimiser's parameters.
        accumulate: batches whose gradients one step adds up, as if they were one batch.
        validations: how often, evenly spaced, the last at the end.
        patience: validations without a better score until it ends; None for never.
    """

    steps: int
    schedule: Schedule
    clip: float = 1.0
    accumulate: int = 1
    validations: int = 5
    patience: int | None = None

    def __post_init__(self) -> None:
        counts = {"steps": self.steps, "accumulate": self.accumulate, "validations": self.validations}
        counts |= {} if self.patience is None else {"patience": self.patience}
        for name, count in counts.items():
            if count < 1:
                raise ConfigError(f"{name}={count}: at least 1 is needed")
        if not self.clip > 0:
            raise ConfigError(f"clip={self.clip}: a norm above 0 is needed, inf for none")

    @property
    def due(self) -> set[int]:
        """Give the steps after which the model is validated."""
        return {math.ceil(self.steps * (i + 1) / self.validations) for i in range(self.validations)}


def plain(loss: Callable[[Tensor, Tensor], Tensor]) -> Objective:
    """Make an objective of a loss of answer and target."""
    return lambda forward, batch, step: loss(forward(*batch.inputs), batch.target)


def fit(
    model: nn.Module,
    objective: Objective,
    batches: Iterable[Batch],
    optimizers: Sequence[Optimizer],
    *,
    plan: Plan,
    fabric: Fabric,
    validate: Callable[[nn.Module], Mapping[str, float]] | None = None,
    watch: Callback | None = None,
    start: Snapshot | None = None,
) -> Outcome:
    """Train a model in place and leave it at its best checkpoint.

    Args:
        model: any module; it is moved to Fabric's device.
        objective: what is made small.
        batches: at least as many as the plan asks for, from the step on at which it starts.
        optimizers: over the model's parameters together, at their highest learning rates.
        plan: how long, how fast, how often.
        fabric: device, precision and strategy.
        validate: scores of the model, the first of which chooses: higher is better. None keeps the last.
        watch: hears what happens.
        start: where an earlier training of the same parts was; it goes on as if it had never been interrupted.

    Raises:
        DivergedError: If the loss is not finite.
        WeightsError: If the snapshot is of other parts.
    """
    trained = in_training(model, fabric)
    forward: Any = fabric.setup_module(trained)
    follow(optimizers, model, trained)
    steppers = [fabric.setup_optimizers(optimizer) for optimizer in optimizers]
    if has_own_loss(trained):
        register_fsdp_forward_method(trained, "training_loss")
        forward.mark_forward_method("training_loss")
    rates = _Rates(optimizers, plan.schedule)
    copy_weights(model, trained)
    training = Training(model, trained, optimizers, fabric)
    if start is not None:
        training.restore(start)
    watch = watch or Callback()
    watch.begun(training.outcome)
    update = _Update(objective, forward, steppers, plan, fabric)
    source, due = iter(batches), plan.due
    trained.train()
    for step in range(training.outcome.steps, plan.steps):
        if plan.patience is not None and training.outcome.waited >= plan.patience:
            training.outcome.ended = "patience"
            break
        started = time.perf_counter()
        rates.set(step)
        parts = [_next(source, step) for _ in range(plan.accumulate)]
        shares, wish = _agreed(parts, watch.wish(), fabric)
        loss = update(parts, shares, step)
        training.losses.add(loss)
        training.outcome.steps = step + 1
        training.outcome.seconds += time.perf_counter() - started
        watch.stepped(step + 1, loss)
        if step + 1 in due:
            _validate(training, validate)
            watch.validated(training.outcome)
        if wish.save or wish.stop or step + 1 in due:
            watch.save(training.snapshot())
        if wish.stop and step + 1 < plan.steps:
            training.outcome.ended = "asked to"
            return training.outcome
    model.load_state_dict(training.best)
    model.to(fabric.device)
    return training.outcome


def shuffled(count: int, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Give index batches without end, each example once in an epoch; a set smaller than a batch is one batch."""
    while True:
        order = torch.randperm(count, generator=generator)
        yield from order[: max(1, count // batch_size) * batch_size].split(batch_size)


class _Rates:
    """Set the learning rates: the highest, as the optimisers were made, times the schedule's factor."""

    def __init__(self, optimizers: Sequence[Optimizer], schedule: Schedule) -> None:
        self.optimizers, self.schedule = optimizers, schedule
        self.peaks = [[group["lr"] for group in optimizer.param_groups] for optimizer in optimizers]

    def set(self, step: int) -> None:
        for optimizer, peaks in zip(self.optimizers, self.peaks, strict=True):
            for group, peak in zip(optimizer.param_groups, peaks, strict=True):
                group["lr"] = peak * self.schedule(step)


class _Update:
    """Take one step of the optimisers."""

    def __init__(self, objective: Objective, forward: Any, steppers: Sequence[Any], plan: Plan, fabric: Fabric) -> None:
        self.objective, self.forward, self.steppers, self.plan, self.fabric = objective, forward, steppers, plan, fabric

    def __call__(self, parts: Sequence[Batch], shares: Sequence[float] | None, step: int) -> Tensor:
        total: Tensor | float = 0.0
        for at, batch in enumerate(parts):
            with self._apart(at < len(parts) - 1):
                with self.fabric.autocast():  # a model's own loss is no forward pass, which has it
                    value = self.objective(self.forward, self.fabric.to_device(batch), step)
                if shares is not None:
                    value = value * shares[at]
                self.fabric.backward(value)
            total = total + value.detach()
        for stepper in self.steppers:
            if self.plan.clip < math.inf:
                self.fabric.clip_gradients(self.forward, stepper, max_norm=self.plan.clip, error_if_nonfinite=False)
            stepper.step()
            stepper.zero_grad()
        assert isinstance(total, Tensor)
        return total

    def _apart(self, apart: bool) -> Any:
        """Let processes add up their gradients after the last batch only."""
        wanted = apart and self.fabric.world_size > 1
        return self.fabric.no_backward_sync(self.forward) if wanted else nullcontext()


def _agreed(parts: Sequence[Batch], wish: Request, fabric: Fabric) -> tuple[list[float] | None, Request]:
    """Give each batch's share of all that the step asks, and what any process wishes.

    With shares by what is asked, several batches, on several processes, are as good as one. Processes add up their
    gradients to a mean, so that theirs are taken times their number.
    """
    if len(parts) == 1 and fabric.world_size == 1:
        return None, wish
    asked = [int(count_asked(part.target)) for part in parts]
    told: Any = torch.tensor([sum(asked), wish.save, wish.stop], dtype=torch.float64)
    if fabric.world_size > 1:
        told = fabric.all_reduce(told.to(fabric.device), reduce_op="sum")
    total, save, stop = told.tolist()
    return [fabric.world_size * count / max(total, 1) for count in asked], Request(save > 0, stop > 0)


def _validate(training: Training, validate: Callable[[nn.Module], Mapping[str, float]] | None) -> None:
    outcome = training.outcome
    mean = training.losses.mean(outcome.steps, training.fabric)
    with training.judged() as model:
        scores = _scores(model, validate) if validate else {}
    scores = training.fabric.broadcast(scores) if training.fabric.world_size > 1 else scores
    score = next(iter(scores.values())) if scores else -mean
    outcome.history.append(Validation(outcome.steps, mean, score, scores))
    if score > outcome.best_score or validate is None:
        outcome.best_step, outcome.best_score = outcome.steps, score
        training.best = training.weights()


def _scores(model: nn.Module, validate: Callable[[nn.Module], Mapping[str, float]]) -> Mapping[str, float]:
    model.eval()
    with torch.no_grad():
        scores = validate(model)
    model.train()
    return scores


def _next(source: Iterator[Batch], step: int) -> Batch:
    try:
        return Batch(*next(source))
    except StopIteration:
        raise ZooError(f"the batches ended after {step} steps") from None
