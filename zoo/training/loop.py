"""`fit`: the training loop, on Lightning Fabric, which brings device, precision and strategy.

Its arguments are the parts of a training: a model, an objective, batches, optimizers, a plan, and a validation that
chooses the best checkpoint. The loop reads nothing back from the device between two validations, unless processes have
to agree.
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

from zoo.core.losses.loss import count_targets
from zoo.core.models.model import has_own_loss
from zoo.data.batches.packed import unpacked
from zoo.data.corpus import Batch
from zoo.errors import ConfigError, ZooError
from zoo.training.callbacks.callback import Callback, Request
from zoo.training.criterion import Criterion, goodness
from zoo.training.data_wait import DataWait
from zoo.training.distributed.fsdp import copy_weights, follow, in_training
from zoo.training.fine_tuning.averaging import WeightAverage
from zoo.training.objective import Objective
from zoo.training.optimization.optimizers import Schedule
from zoo.training.resume.checkpoint import Snapshot
from zoo.training.resume.train_state import DivergedError, Outcome, Training, Validation

__all__ = ["DivergedError", "Objective", "Outcome", "Plan", "Validation", "fit", "plain", "shuffled"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Length, schedule and validations of a training.

    Args:
        steps: optimizer steps.
        schedule: factor of the learning rate at each step.
        clip: maximum gradient norm of each optimizer's parameters.
        accumulate: batches of one optimizer step (gradient accumulation).
        validations: number of validations, evenly spaced, the last at the end.
        patience: validations without improvement after which it stops, counted once a score has moved; None for never.
        criterion: chooses the best checkpoint, and says what an improvement is.
        average: decay of a moving average of the weights, which is validated and kept in their place; None for none.
    """

    steps: int
    schedule: Schedule
    clip: float = 1.0
    accumulate: int = 1
    validations: int = 5
    patience: int | None = None
    criterion: Criterion = Criterion()
    average: float | None = None

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
        """Steps after which the model is validated."""
        return {math.ceil(self.steps * (i + 1) / self.validations) for i in range(self.validations)}


def plain(loss: Callable[[Tensor, Tensor], Tensor]) -> Objective:
    """Make an objective of a loss of output and target."""
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
    callback: Callback | None = None,
    start: Snapshot | None = None,
) -> Outcome:
    """Train a model in place and load the weights of its best checkpoint.

    Args:
        model: any module; it is moved to Fabric's device.
        objective: the loss.
        batches: at least as many as the plan asks for, from the step on at which it starts; packed ones are unpacked on
            Fabric's device.
        optimizers: over the model's parameters together, at their peak learning rates.
        plan: length, schedule and validations.
        fabric: device, precision and strategy.
        validate: scores of the model, by which the plan's criterion chooses the checkpoint. None keeps the last.
        callback: called at each step; may request a checkpoint, a stop or the end.
        start: snapshot of an earlier training of the same parts, which is resumed exactly.

    Raises:
        DivergedError: If the loss is not finite.
        WeightsError: If the snapshot is of other parts.
    """
    training, update = _prepare(model, objective, optimizers, plan, fabric)
    if start is not None:
        training.restore(start)
    callback = callback or Callback()
    callback.on_start(training.outcome)
    source, due, wait = iter(batches), plan.due, DataWait(fabric.device)
    training.trained.train()
    for step in range(training.outcome.steps, plan.steps):
        if plan.patience is not None and training.outcome.waited >= plan.patience:
            training.outcome.ended = "patience"
            break
        started = time.perf_counter()
        with wait.fetching():
            parts = [_next(source, step) for _ in range(plan.accumulate)]
        shares, request = _agreed(parts, callback.request(), fabric)
        loss = update(parts, shares, step)
        wait.computed()
        training.add(loss, time.perf_counter() - started, wait.take())
        if training.average is not None:
            training.average.update(step + 1)
        callback.on_step(step + 1, loss)
        validated = step + 1 in due or request.finish
        if validated:
            with training.averaged():
                _validate(training, validate)
                callback.on_validation(training.outcome)
        if request.finish and step + 1 < plan.steps:
            training.outcome.ended = "a callback"
        if request.save or request.stop or validated:
            callback.on_checkpoint(training.snapshot())
        if training.outcome.ended == "a callback":
            break
        if request.stop and step + 1 < plan.steps:
            training.outcome.ended = "asked to"
            return training.outcome
    training.load_best()
    return training.outcome


def shuffled(count: int, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Yield index batches without end, each example once in an epoch; a set smaller than a batch is one batch."""
    while True:
        order = torch.randperm(count, generator=generator)
        yield from order[: max(1, count // batch_size) * batch_size].split(batch_size)


def _prepare(
    model: nn.Module, objective: Objective, optimizers: Sequence[Optimizer], plan: Plan, fabric: Fabric
) -> "tuple[Training, _Update]":
    """Set a model and its optimizers up on Fabric's devices."""
    trained = in_training(model, fabric)
    forward: Any = fabric.setup_module(trained)
    follow(optimizers, model, trained)
    steppers = [fabric.setup_optimizers(optimizer) for optimizer in optimizers]
    if has_own_loss(trained):
        register_fsdp_forward_method(trained, "training_loss")
        forward.mark_forward_method("training_loss")
    rates = _Rates(optimizers, plan.schedule)
    copy_weights(model, trained)
    update = _Update(objective, forward, steppers, rates, plan.clip, fabric)
    average = None if plan.average is None else WeightAverage(trained, plan.average)
    if average is not None and trained is not model:
        raise ConfigError(f"ema={plan.average} with sharded weights: leave one of them out")
    return Training(model, trained, optimizers, fabric, plan.criterion, average), update


class _Rates:
    """Learning rates of each step: the peak, as the optimizers were made, times the schedule's factor."""

    def __init__(self, optimizers: Sequence[Optimizer], schedule: Schedule) -> None:
        self.optimizers, self.schedule = optimizers, schedule
        self.peaks = [[group["lr"] for group in optimizer.param_groups] for optimizer in optimizers]

    def set(self, step: int) -> None:
        for optimizer, peaks in zip(self.optimizers, self.peaks, strict=True):
            for group, peak in zip(optimizer.param_groups, peaks, strict=True):
                group["lr"] = peak * self.schedule(step)


class _Update:
    """One optimizer step: learning rates, gradients of all its batches, clipping."""

    def __init__(
        self, objective: Objective, forward: Any, steppers: Sequence[Any], rates: _Rates, clip: float, fabric: Fabric
    ) -> None:
        self.objective, self.forward, self.steppers = objective, forward, steppers
        self.rates, self.clip, self.fabric = rates, clip, fabric

    def __call__(self, parts: Sequence[Batch], shares: Sequence[float] | None, step: int) -> Tensor:
        self.rates.set(step)
        total: Tensor | float = 0.0
        for at, batch in enumerate(parts):
            with self._unsynchronised(at < len(parts) - 1):
                with self.fabric.autocast():  # a model's own loss is no forward pass, which has it
                    value = self.objective(self.forward, unpacked(self.fabric.to_device(batch)), step)
                if shares is not None:
                    value = value * shares[at]
                self.fabric.backward(value)
            total = total + value.detach()
        for stepper in self.steppers:
            if self.clip < math.inf:
                self.fabric.clip_gradients(self.forward, stepper, max_norm=self.clip, error_if_nonfinite=False)
            stepper.step()
            stepper.zero_grad()
        assert isinstance(total, Tensor)
        return total

    def _unsynchronised(self, more: bool) -> Any:
        """Let processes add up their gradients after the last batch only."""
        wanted = more and self.fabric.world_size > 1
        return self.fabric.no_backward_sync(self.forward) if wanted else nullcontext()


def _agreed(parts: Sequence[Batch], request: Request, fabric: Fabric) -> tuple[list[float] | None, Request]:
    """Return the weight of each batch's loss in the step, and what any process requests.

    Weighted by their counts of targets, several batches on several processes are equal to one batch. Processes average
    their gradients, so that weights are multiplied by the number of processes.
    """
    if len(parts) == 1 and fabric.world_size == 1:
        return None, request
    targets = [int(count_targets(part.target)) for part in parts]
    counts: Any = torch.tensor([sum(targets), *request], dtype=torch.float64)
    if fabric.world_size > 1:
        counts = fabric.all_reduce(counts.to(fabric.device), reduce_op="sum")
    total, *asked = counts.tolist()
    return [fabric.world_size * count / max(total, 1) for count in targets], Request(*(each > 0 for each in asked))


def _validate(training: Training, validate: Callable[[nn.Module], Mapping[str, float]] | None) -> None:
    outcome = training.outcome
    mean = training.losses.mean(outcome.steps, training.fabric)
    with training.evaluated() as model:
        scores = _scores(model, validate) if validate else {}
    scores = training.fabric.broadcast(scores) if training.fabric.world_size > 1 else scores
    best, criterion = outcome.best, outcome.criterion
    metric = criterion.names(scores)[0] if scores else ""
    score = goodness(metric, scores[metric]) if scores else -mean
    outcome.history.append(Validation(outcome.steps, mean, score, scores))
    if not scores or criterion.compare(scores, best.scores if best else None) >= 0:
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
        raise ZooError(f"the batches ended after step {step}") from None
