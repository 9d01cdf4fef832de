"""Models in bfloat16, compiled, against the same models of their peer libraries, compiled too."""

from functools import partial
from typing import Any

import torch

from zoo.bench.speed.case import Case, Job
from zoo.factory import create
from zoo.registry.entry_loading import load

ROWS, TOKENS = 32, 512
"""Rows of a batch, and tokens of a row where a model reads such."""


def pair(name: str, dtype: torch.dtype = torch.bfloat16, **overrides: Any) -> tuple[Any, Any]:
    """Make a model and its peer, with the same weights, to be evaluated, on the default device.

    Args:
        name: of the model.
        dtype: of the weights.
        overrides: of its configuration.
    """
    torch.manual_seed(0)
    device = torch.get_default_device()
    ours: Any = create.create(name, **overrides).eval()
    theirs: Any = load(ours.spec, ours.spec.peer)(ours).eval()
    return ours.to(device, dtype), theirs.to(device, dtype)


def inputs(name: str, rows: int, dtype: torch.dtype) -> tuple[Any, ...]:
    """Give a model's example on the default device, real numbers in a precision, and tokens as many as `TOKENS`."""
    device = torch.get_default_device()
    with torch.device("cpu"):  # examples are drawn by a generator of the CPU
        given = create.example(name, rows)
    if given[0].is_floating_point():
        return (given[0].to(device, dtype),)
    ids = given[0].repeat(1, -(-TOKENS // given[0].shape[1]))[:, :TOKENS]
    return ids.to(device), None  # none is padding


def compiled(name: str, step: bool) -> tuple[Job, Job]:
    """Make our job and the peer's.

    Args:
        name: of the model.
        step: whether to compute gradients too.
    """
    given = inputs(name, ROWS, torch.bfloat16)
    made = [partial(run, torch.compile(model), model, given, step) for model in pair(name)]
    return made[0], made[1]


def run(forward: Any, model: torch.nn.Module, given: tuple[Any, ...], step: bool) -> None:
    """Compute the answer, or the gradients of its sum by all weights."""
    with torch.set_grad_enabled(step):
        answer = forward(*given)
        if step:
            answer.float().square().mean().backward()
            model.zero_grad()


CASES = [
    Case(f"{name}, {size}, bf16, compiled, {what}", "peer library, compiled", 1.0, partial(compiled, name, step))
    for name, size, what, step in (
        ("vit-small", f"{ROWS} rows", "forward", False),
        ("vit-small", f"{ROWS} rows", "forward + backward", True),
        ("bert-base", f"{ROWS} x {TOKENS}", "forward", False),
        ("gpt2-small", f"{ROWS} x {TOKENS}", "forward", False),
    )
]
