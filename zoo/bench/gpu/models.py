"""Models in bfloat16, compiled, against the same models of their peer libraries, compiled too."""

from functools import partial
from typing import Any

import torch

from zoo.bench.speed.case import Case, Job
from zoo.factory import create
from zoo.registry.entry_loading import load

ROWS = 32


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
    """Give a model's example on the default device, real numbers in a precision."""
    device = torch.get_default_device()
    with torch.device("cpu"):  # examples are drawn by a generator of the CPU
        given = create.example(name, rows)
    return tuple(x.to(device, dtype if x.is_floating_point() else x.dtype) for x in given if torch.is_tensor(x))


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
    Case(f"{name}, {ROWS} rows, bf16, compiled, {what}", "peer library, compiled", 1.0, partial(compiled, name, step))
    for name, what, step in (
        ("vit-small", "forward", False),
        ("vit-small", "forward + backward", True),
        ("bert-base", "forward", False),
        ("gpt2-small", "forward", False),
    )
]
