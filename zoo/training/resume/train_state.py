"""State of a running training, as saved to resume it exactly: weights, optimizers, random numbers, progress."""

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.optim import Optimizer

from zoo.errors import WeightsError, ZooError
from zoo.training.criterion import Criterion
from zoo.training.distributed.fsdp import copy_weights, full, placed
from zoo.training.fine_tuning.averaging import WeightAverage
from zoo.training.resume.checkpoint import Snapshot
from zoo.training.resume.random_state import random_state, set_random_state

Weights = dict[str, Tensor]


class DivergedError(ZooError, ArithmeticError):
    """Report a loss that is no longer a finite number."""


class Validation(NamedTuple):
    """Scores of one validation."""

    step: int
    loss: float
    """Mean training loss since the validation before."""
    score: float
    """The metric, turned round where lower is better."""
    scores: Mapping[str, float] = {}


@dataclass
class Outcome:
    """Steps, time, history and best checkpoint of a training."""

    steps: int = 0
    seconds: float = 0.0
    """Of training steps, without validations."""
    best_step: int = 0
    best_score: float = -math.inf
    history: list[Validation] = field(default_factory=list)
    ended: str = "all steps"
    """Why it ended: `all steps`, `patience`, `a callback`, or `asked to` (there are steps left)."""
    criterion: Criterion = field(default_factory=Criterion)
    """Chooses the best checkpoint."""
    waiting: float = 0.0
    """Seconds of training steps in which the device waited for data; of several processes, those of the first."""

    @property
    def waiting_share(self) -> float:
        """Share of the time of training steps in which the device waited for data, in [0, 1]."""
        return min(1.0, self.waiting / self.seconds) if self.seconds else 0.0

    @property
    def waited(self) -> int:
        """Number of validations since the last improvement."""
        return self.criterion.waited([entry.scores for entry in self.history if entry.scores])

    @property
    def best(self) -> Validation | None:
        """The validation of the best checkpoint; None before the first."""
        return next((entry for entry in self.history if entry.step == self.best_step), None)

    @property
    def deciding(self) -> dict[str, float]:
        """The scores of the best checkpoint by which it was chosen, the metric first."""
        scores = self.best.scores if self.best else {}
        return {name: scores[name] for name in (self.criterion.names(scores) if scores else ())}

    @property
    def best_by(self) -> str:
        """Which score chose the best checkpoint, and what was equal."""
        if self.best is None or not self.best.scores:
            return "the last"
        others = [entry.scores for entry in self.history if entry.step != self.best_step]
        return self.criterion.reason(self.best.scores, others)


class Losses:
    """Running mean of the loss; summed up on the device, read only by `mean`."""

    def __init__(self) -> None:
        self.total: Tensor | float = 0.0
        self.count = 0

    def add(self, value: Tensor) -> None:
        """Add the loss of a step."""
        self.total, self.count = self.total + value, self.count + 1

    def mean(self, step: int, fabric: Fabric) -> float:
        """Return the mean over steps and processes, and reset.

        Raises:
            DivergedError: If it is not finite.
        """
        total: Any = self.total
        if fabric.world_size > 1:
            total = fabric.all_reduce(total, reduce_op="mean")
        mean = float(total) / max(self.count, 1)
        if not math.isfinite(mean):
            raise DivergedError(f"the loss is {mean} by step {step}")
        self.total, self.count = 0.0, 0
        return mean


class Training:
    """Parts of a running training: takes snapshots of them and restores them.

    Args:
        model: the full model.
        trained: the module whose weights change: the model itself, or a copy with sharded weights.
        optimizers: over the parameters of `trained`.
        fabric: device, precision and strategy.
        criterion: chooses the best checkpoint.
        average: of the weights, which is validated in their place; None for none.
    """

    def __init__(
        self,
        model: nn.Module,
        trained: nn.Module,
        optimizers: Sequence[Optimizer],
        fabric: Fabric,
        criterion: Criterion | None = None,
        average: WeightAverage | None = None,
    ) -> None:
        self.model = model
        self.trained = trained
        self.optimizers = optimizers
        self.fabric = fabric
        self.outcome = Outcome(criterion=criterion or Criterion())
        self.losses = Losses()
        self.average = average
        self.best = self.weights()

    def weights(self) -> Weights:
        """Copy the weights."""
        return copy.deepcopy(dict(self.model.state_dict()))

    def add(self, loss: Tensor, seconds: float, waiting: float) -> None:
        """Count a step: its seconds, and those in which the device is known to have waited for data."""
        self.losses.add(loss)
        self.outcome.steps += 1
        self.outcome.seconds += seconds
        self.outcome.waiting += waiting

    def load_best(self) -> None:
        """Load the weights of the best checkpoint into the model, on Fabric's device."""
        self.model.load_state_dict(self.best)
        self.model.to(self.fabric.device)

    def averaged(self) -> AbstractContextManager[None]:
        """Lend the model the average of its weights, where there is one."""
        return nullcontext() if self.average is None else self.average.applied()

    @contextmanager
    def evaluated(self) -> Iterator[nn.Module]:
        """Lend the full model with the present weights, on Fabric's device; a copy leaves the device afterwards."""
        copy_weights(self.trained, self.model)
        device = next((weight.device for weight in self.model.parameters()), self.fabric.device)
        yield self.model.to(self.fabric.device)
        self.model.to(device)

    def snapshot(self) -> Snapshot:
        """Return the whole state; every process has to call this at the same step."""
        outcome = self.outcome
        copy_weights(self.trained, self.model)
        tensors = {"model": dict(self.model.state_dict()), "optimizer": optimizer_tensors(self.optimizers)}
        if outcome.best_step != outcome.steps:
            tensors["best"] = self.best
        if self.average is not None:
            tensors["average"] = self.average.weights
            tensors["best"] = self.best
        facts = {
            "seconds": outcome.seconds,
            "waiting": outcome.waiting,
            "best": [outcome.best_step, as_json(outcome.best_score)],
            "history": [[e.step, e.loss, as_json(e.score), dict(e.scores)] for e in outcome.history],
            "ended": outcome.ended,
            "losses": [as_json(float(self.losses.total)), self.losses.count],
            "scaler": self.fabric.strategy.precision.state_dict(),
            "random": _gathered(random_state(self.fabric.device), self.fabric),
        }
        return Snapshot(outcome.steps, tensors, facts)

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot; every process has to call this.

        Raises:
            WeightsError: If it is of another model, optimiser or number of processes.
        """
        tensors, facts = snapshot.tensors, snapshot.facts
        if len(facts["random"]) != self.fabric.world_size:
            raise WeightsError(
                f"the checkpoint is of {len(facts['random'])} processes, and {self.fabric.world_size} resume it: "
                "use as many"
            )
        try:
            self.model.load_state_dict(tensors["model"])
            copy_weights(self.model, self.trained)
            set_optimizer_tensors(self.optimizers, tensors["optimizer"])
            if self.average is not None:
                self.average.load(tensors["average"])
        except (RuntimeError, KeyError) as error:
            raise WeightsError(f"the checkpoint of step {snapshot.step} does not fit: {error}") from error
        best = best_weights(snapshot)
        self.best = {key: x.to(self.best[key].device) for key, x in best.items()}
        total, count = facts["losses"]
        self.outcome = outcome_of(snapshot, self.outcome.criterion)
        self.losses.total = torch.tensor(_number(total), device=self.fabric.device) if count else 0.0
        self.losses.count = count
        self.fabric.strategy.precision.load_state_dict(facts["scaler"])
        set_random_state(facts["random"][self.fabric.global_rank], self.fabric.device)


def outcome_of(snapshot: Snapshot, criterion: Criterion) -> Outcome:
    """Return the steps, time, history and best checkpoint of a training up to a snapshot."""
    facts = snapshot.facts
    best_step, best_score = facts["best"]
    history = [Validation(step, loss, _number(score), scores) for step, loss, score, scores in facts["history"]]
    waiting = facts.get("waiting", 0.0)
    return Outcome(
        snapshot.step, facts["seconds"], best_step, _number(best_score), history, criterion=criterion, waiting=waiting
    )


def best_weights(snapshot: Snapshot) -> Weights:
    """Return the weights of the best checkpoint up to a snapshot."""
    return snapshot.tensors.get("best", snapshot.tensors["model"])


def optimizer_tensors(optimizers: Sequence[Optimizer]) -> Weights:
    """Return the optimizers' state of each parameter as full tensors, named `OPTIMIZER.PARAMETER.NAME`."""
    return {
        f"{at}.{index}.{name}": full(value) if isinstance(value, Tensor) else torch.tensor(value)
        for at, optimizer in enumerate(optimizers)
        for index, kept in optimizer.state_dict()["state"].items()
        for name, value in kept.items()
    }


def set_optimizer_tensors(optimizers: Sequence[Optimizer], tensors: Weights) -> None:
    """Load the optimizers' state, sharded and laid out in memory as their parameters are.

    Fused steps walk through the memory of both together: with another layout they would mix numbers up.
    """
    for at, optimizer in enumerate(optimizers):
        parameters = dict(enumerate(p for group in optimizer.param_groups for p in group["params"]))
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            owner, index, name = key.split(".", 2)
            if int(owner) == at:
                like = parameters[int(index)]
                fits = value.shape == like.shape and value.ndim
                state.setdefault(int(index), {})[name] = placed(value, like) if fits else value
        optimizer.load_state_dict(optimizer.state_dict() | {"state": state})
        for parameter, kept in optimizer.state.items():
            for name, value in kept.items():
                if isinstance(value, Tensor) and value.shape == parameter.shape and value.ndim:
                    kept[name] = torch.empty_like(parameter, dtype=value.dtype).copy_(value)


def _gathered(value: dict[str, Any], fabric: Fabric) -> list[dict[str, Any]]:
    if fabric.world_size == 1:
        return [value]
    values: list[Any] = [None] * fabric.world_size
    torch.distributed.all_gather_object(values, value)
    return values


def as_json(number: float) -> float | str:
    """Return a number, or its text where JSON has no such number."""
    return number if math.isfinite(number) else str(number)


def _number(value: float | str) -> float:
    return float(value)
