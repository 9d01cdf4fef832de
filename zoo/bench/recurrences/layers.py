"""Layers of linear cost at twice the length, and a causal Performer beside PyTorch's SDPA, forward."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from zoo.bench.speed.case import Case, Job
from zoo.core import Causal, Tokens
from zoo.core.mechanisms.efficient.performer import Performer
from zoo.core.mechanisms.linear_attention import LinearAttention
from zoo.core.mechanisms.recurrence.delta import GatedDeltaAttention
from zoo.core.mechanisms.recurrence.gated_linear import GatedLinearAttention
from zoo.core.mechanisms.recurrence.retention import Retention
from zoo.core.mechanisms.recurrence.state_space import StateSpaceAttention

HEADS, HEAD_DIM, FEATURES = 4, 64, 128
LENGTHS = (2048, 4096, 8192)
"""Tokens that are doubled."""
LONG = 16_384
"""Tokens of the Performer beside SDPA, of one head."""

LAYERS: dict[str, Callable[[int, int], nn.Module]] = {
    "linear": LinearAttention,
    "retention": Retention,
    "gla": GatedLinearAttention,
    "ssd": StateSpaceAttention,
    "gated-delta": GatedDeltaAttention,
    "performer": partial(Performer, features=FEATURES),
}


def forward(layer: nn.Module, tokens: int) -> Job:
    """Make the job of a causal layer, without gradients."""
    given = Tokens(torch.randn(1, tokens, HEADS * HEAD_DIM), Causal())

    def run() -> None:
        with torch.no_grad():
            layer(given)

    return run


def beside_half(name: str, tokens: int) -> tuple[Job, Job]:
    """Make the jobs of twice as many tokens, and of these, of the same layer."""
    torch.manual_seed(0)
    layer = LAYERS[name](HEADS * HEAD_DIM, HEADS).eval()
    return forward(layer, 2 * tokens), forward(layer, tokens)


def performer_beside_full() -> tuple[Job, Job]:
    """Make the jobs of a causal Performer and of softmax attention to all tokens, of one head and the same values."""
    torch.manual_seed(0)
    layer: Any = Performer(HEAD_DIM, 1, features=FEATURES).eval()
    q, k, v = (torch.randn(1, 1, LONG, HEAD_DIM) for _ in range(3))
    valid = torch.ones(1, LONG, dtype=torch.bool)

    def ours() -> None:
        with torch.no_grad():
            layer.mix((q, k, v), valid, True)

    def full() -> None:
        with torch.no_grad():
            scaled_dot_product_attention(q, k, v)

    return ours, full


CASES: tuple[Case, ...] = (
    *(
        Case(f"{name} layer: {2 * n:,} tokens, forward", f"{n:,} tokens", 2.15, partial(beside_half, name, n))
        for name in LAYERS
        for n in LENGTHS
    ),
    Case(
        f"causal performer, {FEATURES} features: {LONG:,} tokens, forward",
        "SDPA, not causal",
        0.1,
        performer_beside_full,
    ),
)
