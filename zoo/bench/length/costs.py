"""What the families cost: operations and time of a layer over length and channels, time and memory of a model."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from zoo.bench.length.families import FAMILIES, Step, draw_vectors
from zoo.bench.length.recall import build, draw, train_step
from zoo.bench.speed.memory import peak_bytes
from zoo.bench.speed.timing import seconds
from zoo.core import flops

LAYER_LENGTHS, LAYER_DIMS = (256, 512, 1024, 2048), (64, 128, 256, 512)
"""Tokens n and channels d of the complexity table; each runs over its list while the other is the second of its own."""
ROUNDS, MOST = 7, 2.0
"""Timed runs of each case, and seconds that they take at most; what goes token by token is timed once."""


def layer(config: Mapping[str, Any]) -> dict[str, Any]:
    """Measure a layer forward; where it has a state, one step of decoding behind so many tokens, and all step by step.

    The last for the width at which the length varies.
    """
    mixer, x = FAMILIES[config["family"]].mixer(config["dim"]).eval(), draw_vectors(config["length"], config["dim"])
    with torch.no_grad():
        found: dict[str, Any] = {
            "operations": operations(config["family"], config["length"], config["dim"]),
            "seconds": typical(lambda: mixer(x)),
        }
        if decoder := getattr(mixer, "decoder", None):
            step, token = decoder(x), x[:, :1]
            found["decoding_seconds"] = typical(lambda: step(token))
            if config["dim"] == LAYER_DIMS[1]:
                found["stepwise_seconds"] = seconds(lambda: stepwise(decoder, x))
    return found


def stepwise(decoder: Callable[[Tensor], Step], x: Tensor) -> Tensor:
    """Give the vectors of a sequence behind its first, token by token with a state, as generation computes them."""
    step = decoder(x[:, :1])
    return torch.cat([step(token) for token in x[:, 1:].split(1, dim=1)], dim=1)


def model(config: Mapping[str, Any]) -> dict[str, Any]:
    """Measure a model on one sequence: forward, a training step, and how much memory the tensors of that take."""
    made = build(config["family"])
    ids, cues = draw(1, config["length"] - 1, torch.Generator().manual_seed(0))
    optimizer = torch.optim.AdamW(made.parameters(), 1e-3)
    step = typical(lambda: train_step(made, optimizer, ids, cues))
    held = peak_bytes(lambda: train_step(made, optimizer, ids, cues))
    with torch.no_grad():
        return {"forward": typical(lambda: made.eval()(ids)), "step": step, "bytes": held}


def operations(family: str, length: int, dim: int) -> int:
    """Count the operations of a layer that mixes tokens, without the projections of attention, as the paper does."""
    found = flops.count(FAMILIES[family].mixer(dim), draw_vectors(length, dim))
    projections = sum(taken for name, taken in found.modules.items() if name.count(".") == 1)  # parts of `attention`
    return found.total - projections


def exponent(sizes: Sequence[int | float], values: Sequence[int | float]) -> float:
    """Fit values ~ sizes^exponent by least squares of the logarithms."""
    return statistics.linear_regression([math.log(size) for size in sizes], [math.log(value) for value in values]).slope


def typical(job: Callable[[], object]) -> float:
    """Give the median time of a job in seconds; it runs once untimed first."""
    seconds(job)
    taken = seconds(job)
    return statistics.median([taken] + [seconds(job) for _ in range(min(ROUNDS, int(MOST / max(taken, 1e-9))))])
