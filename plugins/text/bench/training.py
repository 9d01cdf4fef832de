"""Training: a step of the Transformer."""

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from zoo.bench import Case, Job
from zoo.plugins.text.bench.peer import ids, pair

NAME, VOCABULARY = "transformer-base", 41_000
ROWS, TOKENS = 8, 64


def train(model: Any, optimizer: torch.optim.Optimizer, source: Tensor, target: Tensor) -> None:
    """Take one step: forward, loss, backward, Adam."""
    scores = model(source, None, target[:, :-1])  # no padding: a mask of nothing would cost torch its fast attention
    loss = cross_entropy(scores.flatten(0, 1).float(), target[:, 1:].flatten(), label_smoothing=0.1)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def step(dtype: torch.dtype) -> tuple[Job, Job]:
    """Make our job and the peer's."""
    source, target = ids(VOCABULARY, ROWS, TOKENS), ids(VOCABULARY, ROWS, TOKENS + 1)
    models = pair(NAME, dtype, train=True)
    optimizers = [torch.optim.Adam(model.parameters(), 1e-4, (0.9, 0.98), 1e-9) for model in models]
    ours, theirs = (partial(train, *both, source, target) for both in zip(models, optimizers, strict=True))
    return ours, theirs


CASES = [
    Case(f"{NAME} training step, {ROWS} rows of {TOKENS} to {TOKENS}, {kind}", "torch.nn.Transformer", 0.95,
         build=partial(step, dtype))
    for kind, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16))
]  # fmt: skip
