"""The task of `zoo bench length`: a cue, noise, and at the end the question which cue it was.

Nothing but the distance makes it hard: cues are tokens of their own, so that whatever sees the cue can tell it. What
does not see it can only guess, and is right once in `CUES`.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from zoo.bench.length.families import FAMILIES
from zoo.factory import create
from zoo.training.optimization.optimizers import optimizers_for, trapezoid

CUES, NOISE = 8, 8
QUESTION = CUES + NOISE
CHANCE = 1 / CUES
BATCH = 32
RATES = (3e-3, 1e-2)
"""Learning rates of AdamW, the same for every family; one is chosen on validation."""
HELD_OUT = 512
"""Sequences of the validation, and of the test."""
VALIDATED = 50
"""Steps from one look at the validation to the next."""
SOLVED = 0.998
"""Validation accuracy at which a training ends."""
VALIDATION_SEED, TEST_SEED = 1_000_001, 1_000_002
"""Of the held-out sequences; those of trainings are far below."""


def draw(count: int, distance: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw sequences (count, distance + 1): a cue, noise, and the question `distance` tokens behind the cue.

    Returns:
        The sequences, and which cue each has.
    """
    cues = torch.randint(CUES, (count,), generator=generator)
    ids = torch.randint(CUES, CUES + NOISE, (count, distance + 1), generator=generator)
    ids[:, 0], ids[:, -1] = cues, QUESTION
    return ids, cues


def build(family: str) -> nn.Module:
    """Make the model of a family for the task: it labels each token, and only the label of the last is asked for."""
    found = FAMILIES[family]
    return create.create(found.model, vocab_size=QUESTION + 1, num_classes=CUES, task="tag", **found.options)


def train(config: dict[str, Any]) -> dict[str, Any]:
    """Train a model on one distance, and test it; validation ends the training, and is told for the choice of rates."""
    torch.manual_seed(config["seed"])
    model, distance, steps = build(config["family"]), config["distance"], config["steps"]
    (optimizer,) = optimizers_for("adamw", model, config["learning_rate"], 0.01)
    schedule, generator = trapezoid(steps), torch.Generator().manual_seed(config["seed"])
    validation, taken = 0.0, 0
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = config["learning_rate"] * schedule(step)
        train_step(model, optimizer, *draw(BATCH, distance, generator))
        taken = step + 1
        if taken % VALIDATED == 0 or taken == steps:
            validation = accuracy(model, distance, VALIDATION_SEED)
            if validation >= SOLVED:
                break
    return {
        "accuracy": accuracy(model, distance, TEST_SEED),
        "validation": validation,
        "steps_taken": taken,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }


@torch.no_grad()
def accuracy(model: nn.Module, distance: int, seed: int) -> float:
    """Give the share of held-out sequences whose cue is told."""
    ids, cues = draw(HELD_OUT, distance, torch.Generator().manual_seed(seed))
    model.eval()
    told = torch.cat([model(some)[:, -1].argmax(1) for some in ids.split(64)])
    model.train()
    return float((told == cues).float().mean())


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, ids: Tensor, cues: Tensor) -> None:
    """Learn from a batch."""
    cross_entropy(model(ids)[:, -1], cues).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
