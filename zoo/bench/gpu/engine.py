"""Attention in a window and on edges; the cases of the suite `engine`, in the precision that a GPU is used in."""

from functools import partial

import torch

from zoo.bench.engine import edges, windows
from zoo.bench.speed.case import Built, Case
from zoo.core.engine.planner import plan
from zoo.core.errors import ConfigError

TOKENS = 16_000


def window(backend: str, beside: str, step: bool) -> Built:
    """Make the jobs of the window on a backend, in bfloat16, and of its peer; or say why the backend cannot serve.

    Args:
        backend: `flex` or `flash`.
        beside: `full` for PyTorch's kernel on all pairs, `flex` for FlexAttention.
        step: whether to compute gradients too.
    """
    device, dtype = torch.get_default_device().type, torch.bfloat16
    try:
        plan(
            windows.PATTERN, queries=TOKENS, keys=TOKENS, heads=windows.HEADS, head_dim=windows.HEAD_DIM,
            device=device, dtype=dtype, grad=step, backend=backend,
        )  # fmt: skip
    except ConfigError as error:
        return str(error)
    if beside == "flex":
        return windows.beside_flex(TOKENS, step, dtype, backend)
    return windows.beside_full(TOKENS, step, dtype, backend)


CASES = [
    *(
        Case(
            f"window {windows.REACH} each side by {backend}, T = {TOKENS:,}, bf16, {what}",
            peer,
            target,
            build=partial(window, backend, beside, step),
        )
        for backend in ("flex", "flash")
        for beside, peer, targets in (
            ("full", "full SDPA", (1 / 10, 1 / 10)),
            ("flex", "FlexAttention, compiled", (1.05, 1.05)),
        )
        for what, step, target in (("forward", False, targets[0]), ("forward + backward", True, targets[1]))
    ),
    *(
        Case(f"{count:,} edges, whole layer, {what}", edges.PEER, 0.7, partial(edges.against_peer, count, step))
        for count in (100_000, 1_000_000)
        for what, step in (("forward", False), ("forward and backward", True))
    ),
]
