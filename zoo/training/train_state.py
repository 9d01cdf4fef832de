"""What a training has to keep to go on as if nothing had happened: weights, optimisers, random numbers, progress."""

import base64
import copy
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.optim import Optimizer

from zoo.errors import WeightsError, ZooError
from zoo.training.checkpoint import Snapshot
from zoo.training.distributed.fsdp import copy_weights, placed, whole

Weights = dict[str, Tensor]


class DivergedError(ZooError, ArithmeticError):
    """Report a loss that is no longer a finite number."""


class Validation(NamedTuple):
    """Report one look at the validation data."""

    step: int
    loss: float
    """Mean of the training since the look before."""
    score: float
    """The one that chooses the checkpoint; higher is better."""
    scores: Mapping[str, float] = {}


@dataclass
class Outcome:
    """Report a training: what it cost and which checkpoint was kept."""

    steps: int = 0
    seconds: float = 0.0
    """In training steps, validation left out."""
    best_step: int = 0
    best_score: float = -math.inf
    history: list[Validation] = field(default_factory=list)
    ended: str = "all steps"
    """Why it ended: `all steps`, `patience`, or `asked to` (there are steps left)."""

    @property
    def waited(self) -> int:
        """Count the validations since the best."""
        return sum(entry.step > self.best_step for entry in self.history)


class Losses:
    """Add losses up on the device; read them only when asked for their mean."""

    def __init__(self) -> None:
        self.total: Tensor | float = 0.0
        self.count = 0

    def add(self, value: Tensor) -> None:
        """Add the loss of a step."""
        self.total, self.count = self.total + value, self.count + 1

    def mean(self, step: int, fabric: Fabric) -> float:
        """Give the mean over steps and processes, and begin anew.

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
    """Hold the parts of a running training, take snapshots of them, and set them back.

    Args:
        model: the whole model.
        trained: the module whose weights change: the model itself, or a copy whose weights are parted.
        optimizers: over the parameters of `trained`.
        fabric: device, precision and strategy.
    """

    def __init__(self, model: nn.Module, trained: nn.Module, optimizers: Sequence[Optimizer], fabric: Fabric) -> None:
        self.model = model
        self.trained = trained
        self.optimizers = optimizers
        self.fabric = fabric
        self.outcome = Outcome()
        self.losses = Losses()
        self.best = self.weights()

    def weights(self) -> Weights:
        """Copy the weights."""
        return copy.deepcopy(dict(self.model.state_dict()))

    @contextmanager
    def judged(self) -> Iterator[nn.Module]:
        """Lend the whole model as it is now, on Fabric's device; a model of its own leaves the room to the training."""
        copy_weights(self.trained, self.model)
        device = next((weight.device for weight in self.model.parameters()), self.fabric.device)
        yield self.model.to(self.fabric.device)
        self.model.to(device)

    def snapshot(self) -> Snapshot:
        """Give everything; every process has to ask at the same step."""
        outcome = self.outcome
        copy_weights(self.trained, self.model)
        tensors = {"model": dict(self.model.state_dict()), "optimizer": optimizer_tensors(self.optimizers)}
        if outcome.best_step != outcome.steps:
            tensors["best"] = self.best
        facts = {
            "seconds": outcome.seconds,
            "best": [outcome.best_step, as_json(outcome.best_score)],
            "history": [[e.step, e.loss, as_json(e.score), dict(e.scores)] for e in outcome.history],
            "ended": outcome.ended,
            "losses": [as_json(float(self.losses.total)), self.losses.count],
            "scaler": self.fabric.strategy.precision.state_dict(),
            "random": _gathered(random_state(self.fabric.device), self.fabric),
        }
        return Snapshot(outcome.steps, tensors, facts)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot; every process has to.

        Raises:
            WeightsError: If it is of another model, optimiser or number of processes.
        """
        tensors, facts = snapshot.tensors, snapshot.facts
        if len(facts["random"]) != self.fabric.world_size:
            raise WeightsError(
                f"the checkpoint is of {len(facts['random'])} processes, and {self.fabric.world_size} go on: "
                "their batches would be others"
            )
        try:
            self.model.load_state_dict(tensors["model"])
            copy_weights(self.model, self.trained)
            set_optimizer_tensors(self.optimizers, tensors["optimizer"])
        except (RuntimeError, KeyError) as error:
            raise WeightsError(f"the checkpoint of step {snapshot.step} does not fit: {error}") from error
        best = tensors.get("best", tensors["model"])
        self.best = {key: x.to(self.best[key].device) for key, x in best.items()}
        (best_step, best_score), (total, count) = facts["best"], facts["losses"]
        history = [Validation(step, loss, _number(score), scores) for step, loss, score, scores in facts["history"]]
        self.outcome = Outcome(snapshot.step, facts["seconds"], best_step, _number(best_score), history)
        self.losses.total = torch.tensor(_number(total), device=self.fabric.device) if count else 0.0
        self.losses.count = count
        self.fabric.strategy.precision.load_state_dict(facts["scaler"])
        set_random_state(facts["random"][self.fabric.global_rank], self.fabric.device)


def optimizer_tensors(optimizers: Sequence[Optimizer]) -> Weights:
    """Name what optimisers keep of each parameter, whole: `OPTIMISER.PARAMETER.NAME`."""
    return {
        f"{at}.{index}.{name}": whole(value) if isinstance(value, Tensor) else torch.tensor(value)
        for at, optimizer in enumerate(optimizers)
        for index, kept in optimizer.state_dict()["state"].items()
        for name, value in kept.items()
    }


def set_optimizer_tensors(optimizers: Sequence[Optimizer], tensors: Weights) -> None:
    """Give optimisers back what they kept, parted and laid out in memory as their parameters are.

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


def random_state(device: torch.device) -> dict[str, Any]:
    """Give the state of the random numbers of Python, NumPy and torch as JSON values."""
    version, numbers, gauss = random.getstate()
    kind, keys, *rest = np.random.get_state(legacy=True)
    state = {
        "python": [version, list(numbers), gauss],
        "numpy": [kind, np.asarray(keys).tolist(), *rest],
        "torch": _packed(torch.get_rng_state()),
    }
    return state | ({"cuda": _packed(torch.cuda.get_rng_state(device))} if device.type == "cuda" else {})


def set_random_state(state: Mapping[str, Any], device: torch.device) -> None:
    """Go back to a state of the random numbers."""
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    kind, keys, *rest = state["numpy"]
    np.random.set_state((kind, np.array(keys, np.uint32), *rest))
    torch.set_rng_state(_unpacked(state["torch"]))
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(_unpacked(state["cuda"]), device)


def _gathered(value: dict[str, Any], fabric: Fabric) -> list[dict[str, Any]]:
    if fabric.world_size == 1:
        return [value]
    values: list[Any] = [None] * fabric.world_size
    torch.distributed.all_gather_object(values, value)
    return values


def _packed(state: Tensor) -> str:
    return base64.b64encode(state.numpy().tobytes()).decode()


def _unpacked(text: str) -> Tensor:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)


def as_json(number: float) -> float | str:
    """Write what JSON has no number for as a text."""
    return number if math.isfinite(number) else str(number)


def _number(value: float | str) -> float:
    return float(value)
