"""All seeds of a size of the data-size study trained at once, against one after another."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from zoo.bench.gpu.models import inputs
from zoo.bench.seeds.joint_gradients import joint_losses
from zoo.bench.speed.case import Case, Job
from zoo.data.corpus import Batch
from zoo.factory import create

NAME, SEEDS, ROWS, LABELS = "vit-micro", 8, 32, 10


def models(count: int, **overrides: Any) -> list[nn.Module]:
    """Make a model for each seed, on the default device."""
    made = []
    for seed in range(count):
        torch.manual_seed(seed)
        made.append(create.create(NAME, num_classes=LABELS, **overrides).to(torch.get_default_device()).train())
    return made


def together(parts: list[nn.Module], x: Tensor, target: Tensor) -> Job:
    """Make a step of all models at once; x is (seeds, b, …), target (seeds, b)."""
    optimizers = [torch.optim.AdamW(part.parameters(), 1e-3) for part in parts]
    batches = [Batch((its_x,), its_target) for its_x, its_target in zip(x, target, strict=True)]

    def step() -> None:
        for loss, optimizer in zip(joint_losses(parts, batches, cross_entropy), optimizers, strict=True):
            loss.backward()  # of gradients that are known
            optimizer.step()
            optimizer.zero_grad()

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
