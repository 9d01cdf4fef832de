"""All seeds of a size of the data-size study trained at once, against one after another."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn.functional import cross_entropy

from zoo.bench.gpu.models import inputs
from zoo.bench.speed.case import Case, Job
from zoo.factory import create

NAME, SEEDS, ROWS, LABELS = "vit-micro", 8, 32, 10


def models(count: int, **overrides: Any) -> list[nn.Module]:
    """Make a model for each seed, on the default device."""
    made = []
    for seed in range(count):
        torch.manual_seed(seed)
        made.append(create.create(NAME, num_classes=LABELS, **overrides).to(torch.get_default_device()).train())
    return made


def stacked(parts: list[nn.Module]) -> tuple[dict[str, Tensor], Callable[[Tensor, Tensor], dict[str, Tensor]]]:
    """Give the weights of several models in one tensor each, and what computes their gradients at once.

    Args:
        parts: models of one architecture; their weights are copied.
    """
    weights, buffers = stack_module_state(parts)
    weights = {name: x.detach().requires_grad_() for name, x in weights.items()}
    frame = deepcopy(parts[0]).to("meta")

    def loss(own: dict[str, Tensor], kept: dict[str, Tensor], x: Tensor, target: Tensor) -> Tensor:
        return cross_entropy(functional_call(frame, (own, kept), (x,)), target)

    every = vmap(grad(loss), randomness="different")

    def gradients(x: Tensor, target: Tensor) -> dict[str, Tensor]:
        found: dict[str, Tensor] = every(weights, buffers, x, target)
        return found

    return weights, gradients


def together(parts: list[nn.Module], x: Tensor, target: Tensor) -> Job:
    """Make a step of all models at once; x is (seeds, b, …), target (seeds, b)."""
    weights, gradients = stacked(parts)
    optimizer = torch.optim.AdamW(weights.values(), 1e-3)

    def step() -> dict[str, Tensor]:
        for name, found in gradients(x, target).items():
            weights[name].grad = found
        optimizer.step()
        return weights

    return step


def one_by_one(parts: list[nn.Module], x: Tensor, target: Tensor) -> Job:
    """Make a step of each model, one after another."""
    optimizers = [torch.optim.AdamW(part.parameters(), 1e-3) for part in parts]

    def step() -> None:
        for part, optimizer, its_x, its_target in zip(parts, optimizers, x, target, strict=True):
            cross_entropy(part(its_x), its_target).backward()
            optimizer.step()
            optimizer.zero_grad()

    return step


def jobs() -> tuple[Job, Job]:
    """Make both jobs."""
    (x,) = inputs(NAME, SEEDS * ROWS, torch.float32)
    x = x.unflatten(0, (SEEDS, ROWS))
    target = torch.arange(SEEDS * ROWS, device=x.device).remainder(LABELS).view(SEEDS, ROWS)
    parts = models(SEEDS)
    return together(parts, x, target), one_by_one(parts, x, target)


CASES = [Case(f"{NAME}, {SEEDS} seeds, training step of {ROWS} rows each, at once", "one after another", 0.4, jobs)]
