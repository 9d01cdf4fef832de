"""The one training loop of the house, on Lightning Fabric: device, precision and strategy are Fabric's.

Whoever trains brings the parts: a model, a loss, batches without end, optimisers, a schedule, and a validation to
choose the checkpoint by. The loop reads nothing back from the device between two validations.
"""

import copy
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.optim import Optimizer

from zoo.errors import ZooError
from zoo.optimizers import Schedule

Batch = tuple[tuple[Tensor, ...], Tensor]
"""Model inputs and the target of the loss."""


class DivergedError(ZooError, ArithmeticError):
    """Report a loss that is no longer a finite number."""


@dataclass
class Outcome:
    """Report a training: what it cost and which checkpoint was kept."""

    steps: int
    seconds: float
    """In training steps, validation left out."""
    best_step: int = 0
    best_score: float = -math.inf
    history: list[tuple[int, float, float]] = field(default_factory=list)
    """Step, mean loss since the entry before, validation score."""


def train(
    model: nn.Module,
    loss: Callable[[Tensor, Tensor], Tensor],
    batches: Iterable[Batch],
    optimizers: Sequence[Optimizer],
    *,
    steps: int,
    schedule: Schedule,
    fabric: Fabric,
    clip: float = 1.0,
    validate: Callable[[nn.Module], float] | None = None,
    validations: int = 5,
) -> Outcome:
    """Train a model in place and leave it at its best checkpoint.

    Args:
        model: any module; it is moved to Fabric's device.
        loss: answer and target to one number.
        batches: at least `steps` of them.
        optimizers: over the model's parameters together, at their highest learning rates.
        steps: optimiser steps.
        schedule: factor of the learning rate at each step.
        fabric: device, precision and strategy.
        clip: largest norm of the gradient, of each optimiser's parameters.
        validate: score of the model, higher is better; the best is kept. None keeps the last.
        validations: how often, evenly spaced, the last at the end.

    Raises:
        DivergedError: If the loss is not finite.
    """
    forward, *steppers = fabric.setup(model, *optimizers)
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    peak = [group["lr"] for group in groups]
    due = {math.ceil(steps * (i + 1) / validations) for i in range(validations)}
    outcome, kept, losses = Outcome(steps, 0.0), copy.deepcopy(model.state_dict()), _Losses()
    source = iter(batches)
    model.train()
    for step in range(steps):
        started = time.perf_counter()
        for group, rate in zip(groups, peak, strict=True):
            group["lr"] = rate * schedule(step)
        inputs, target = _next(source, step, fabric)
        value = loss(forward(*inputs), target)
        fabric.backward(value)
        for stepper in steppers:
            if clip < math.inf:
                fabric.clip_gradients(forward, stepper, max_norm=clip, error_if_nonfinite=False)
            stepper.step()
            stepper.zero_grad()
        losses.add(value.detach())
        outcome.seconds += time.perf_counter() - started
        if step + 1 in due:
            mean = losses.mean(step + 1)
            score = _score(model, validate) if validate else -mean
            outcome.history.append((step + 1, mean, score))
            if score > outcome.best_score or validate is None:
                outcome.best_step, outcome.best_score = step + 1, score
                kept = copy.deepcopy(model.state_dict())
    model.load_state_dict(kept)
    return outcome


def shuffled(count: int, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Give index batches without end, each example once in an epoch; a set smaller than a batch is one batch."""
    while True:
        order = torch.randperm(count, generator=generator)
        yield from order[: max(1, count // batch_size) * batch_size].split(batch_size)


@cache
def profitable_precision(threshold: float = 2.0) -> str:
    """Choose bf16 where a measured matrix product says that it pays, float32 otherwise; measured once a process.

    Processors with matrix units gain eightfold and more, others nothing: casting needs a gain of two to pay.
    """
    if torch.accelerator.is_available():
        return "bf16-mixed"
    return "bf16-mixed" if bf16_gain() >= threshold else "32-true"


@cache
def bf16_gain(side: int = 512, repeats: int = 5) -> float:
    """Measure how many times faster this processor multiplies bf16 matrices than float32 ones."""
    full = torch.ones(side, side)
    return _fastest(full, repeats) / _fastest(full.bfloat16(), repeats)


def _fastest(matrix: Tensor, repeats: int) -> float:
    durations = []
    for _ in range(repeats + 1):  # the first is the library's set-up
        started = time.thread_time()  # what other processes take does not count
        matrix @ matrix
        durations.append(time.thread_time() - started)
    return min(durations[1:])


def _next(source: Iterator[Batch], step: int, fabric: Fabric) -> Batch:
    try:
        return fabric.to_device(next(source))
    except StopIteration:
        raise ZooError(f"the batches ended after {step} steps") from None


def _score(model: nn.Module, validate: Callable[[nn.Module], float]) -> float:
    model.eval()
    with torch.no_grad():
        score = validate(model)
    model.train()
    return score


class _Losses:
    """Add losses up on the device; read them only when asked for their mean."""

    def __init__(self) -> None:
        self.total: Tensor | float = 0.0
        self.count = 0

    def add(self, value: Tensor) -> None:
        self.total, self.count = self.total + value, self.count + 1

    def mean(self, step: int) -> float:
        mean = float(self.total) / self.count
        if not math.isfinite(mean):
            raise DivergedError(f"the loss is {mean} by step {step}")
        self.total, self.count = 0.0, 0
        return mean
