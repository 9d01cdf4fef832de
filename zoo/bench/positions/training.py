"""A training of `zoo bench positions`: an encoder with vectors of positions added to its tokens."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from zoo.bench.attention.training import BATCH, HELD_OUT, TEST_SEED, accuracy, train_step
from zoo.bench.positions.offset import Offset
from zoo.errors import InputError
from zoo.factory.create import create
from zoo.training.optimization.optimizers import constant, optimizers_for

HOST = "bert-micro"
"""The encoder: width 64, two layers, four heads."""
WARMUP = 20
"""Steps in which the rate rises."""
LONGER = 2
"""Times the length at which a model is tested, too, where its positions go so far."""


def train(config: Mapping[str, Any]) -> dict[str, Any]:
    """Train an encoder to tell the token three places before each, which only positions find.

    Returns:
        `accuracy` by length, of the length of the training and of `LONGER` times that, where there are such positions;
        `vectors` of the positions, and those of the model before its training as `drawn`.
    """
    task, rate = Offset(length=config["length"]), config["learning_rate"]
    torch.manual_seed(config["seed"])
    model = made(config["position"], task)
    drawn = vectors(model, task.length)
    (optimizer,) = optimizers_for("adamw", model, rate, 0.01)
    schedule, generator = constant(WARMUP), torch.Generator().manual_seed(config["seed"])
    for step in range(config["steps"]):
        for group in optimizer.param_groups:
            group["lr"] = rate * schedule(step)
        train_step(model, optimizer, task.draw(BATCH, generator))
    tested: dict[int, float] = {}
    for length in (task.length, LONGER * task.length):
        try:
            tested[length] = accuracy(model, replace(task, length=length), HELD_OUT, TEST_SEED)
        except InputError:
            continue  # learned positions have no vector there
    return {"accuracy": tested, "vectors": vectors(model, task.length), "drawn": drawn}


def made(position: str, task: Offset) -> nn.Module:
    """Make the encoder.

    Raises:
        ConfigError: If there is no such position.
    """
    sizes: dict[str, Any] = {"vocab_size": len(task.words), "num_classes": len(task.classes), "task": "tag"}
    return create(HOST, **sizes, position=position, max_len=task.length, dropout=0.0)


@torch.no_grad()
def vectors(model: Any, length: int) -> list[list[float]] | None:
    """Give what a model adds to its tokens at each position; None where it adds nothing."""
    encoding = model.stem.tokens.position
    if encoding is None:
        return None
    return [[round(number, 5) for number in row] for row in encoding((length,)).tolist()]
