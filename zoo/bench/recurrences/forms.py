"""Linear recurrences by chunks beside PyTorch's SDPA, at twice the length, and in one step of decoding."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize, scaled_dot_product_attention

from zoo.bench.speed.case import Case, Job
from zoo.core import Attention, Causal, Kernel, Steps, Tokens, attend, chunked
from zoo.core.mechanisms.linear_attention import LinearAttention
from zoo.core.mechanisms.recurrence.delta import DeltaAttention
from zoo.core.mechanisms.recurrence.gated_linear import GatedLinearAttention
from zoo.core.mechanisms.recurrence.retention import Retention

HEADS, HEAD_DIM, TOKENS = 4, 64, 4096
FEW, MANY = 100, 10_000
"""Tokens behind which a step of decoding is timed."""


def by_sums(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Compute causal linear attention, arXiv:2006.16236."""
    return attend(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), Causal(), norm=Kernel())


def decaying(q: Tensor, k: Tensor, v: Tensor, decay: Tensor) -> Tensor:
    """Compute sums that decay, for each head as retention and SSD, or for each channel as GLA."""
    return chunked(Steps(q, k, v, decay))[0]


def by_delta(q: Tensor, k: Tensor, v: Tensor, decay: Tensor, rate: Tensor) -> Tensor:
    """Compute the gated delta rule."""
    return chunked(Steps(q, normalize(k, dim=-1), v, decay, rate.sigmoid()))[0]


FORMS: dict[str, tuple[Callable[..., Tensor], tuple[int, ...], float]] = {
    "linear": (by_sums, (), 0.25),
    "a decay for each head (retention, ssd)": (decaying, (1,), 0.25),
    "a decay for each channel (gla)": (decaying, (HEAD_DIM,), 0.25),
    "gated delta rule": (by_delta, (1, 1), 1.0),
}
"""What is computed: its function, the channels of its further arguments, and its share of SDPA's time at most."""


def training(name: str, tokens: int) -> Job:
    """Make the job of a form, forward and backward."""
    torch.manual_seed(0)
    function, channels, _ = FORMS[name]
    given = [torch.randn(1, HEADS, tokens, HEAD_DIM) for _ in range(3)]
    given += [-0.1 * torch.rand(1, HEADS, tokens, size) for size in channels]
    return _both(function, [x.requires_grad_() for x in given])


def beside_full(name: str) -> tuple[Job, Job]:
    """Make the jobs of a form and of softmax attention to all tokens."""
    given = [torch.randn(1, HEADS, TOKENS, HEAD_DIM, requires_grad=True) for _ in range(3)]
    return training(name, TOKENS), _both(scaled_dot_product_attention, given)


def beside_half(name: str) -> tuple[Job, Job]:
    """Make the jobs of twice as many tokens, and of these."""
    return training(name, 2 * TOKENS), training(name, TOKENS)


def step_behind(make: Callable[[int, int], Attention], tokens: int) -> Job:
    """Make the job of a step of decoding behind so many tokens."""
    torch.manual_seed(0)
    layer = make(HEADS * HEAD_DIM, HEADS).eval()
    state: Any = layer.state(1, Causal())
    with torch.no_grad():
        layer(Tokens(torch.randn(1, tokens, HEADS * HEAD_DIM), Causal()), None, state)
    token = Tokens(torch.randn(1, 1, HEADS * HEAD_DIM), Causal())

    def step() -> None:
        with torch.no_grad():
            layer(token, None, state)

    return step


def decoding(make: Callable[[int, int], Attention]) -> tuple[Job, Job]:
    """Make the jobs of a step behind many tokens and of one behind few."""
    return step_behind(make, MANY), step_behind(make, FEW)


def _both(function: Callable[..., Tensor], given: list[Tensor]) -> Job:
    def run() -> None:
        y = function(*given)
        torch.autograd.grad(y, given, torch.ones_like(y))

    return run


LAYERS: dict[str, Callable[[int, int], Attention]] = {
    "linear": LinearAttention, "retention": Retention, "gla": GatedLinearAttention, "delta": DeltaAttention
}  # fmt: skip
FULL, HALF, EARLY = "SDPA, not causal", "half as many tokens", f"behind {FEW} tokens"
CASES: tuple[Case, ...] = (
    *(
        Case(f"{name}: {TOKENS:,} tokens, forward + backward", FULL, target, partial(beside_full, name))
        for name, (_, _, target) in FORMS.items()
    ),
    *(
        Case(f"{name}: {2 * TOKENS:,} tokens, forward + backward", HALF, 2.15, partial(beside_half, name))
        for name in FORMS
    ),
    *(
        Case(f"{name}: a step behind {MANY:,} tokens", EARLY, 1.05, partial(decoding, make), repeats=100)
        for name, make in LAYERS.items()
    ),
    *(
        Case(f"{name}: a step behind {MANY:,} tokens, memory", EARLY, 1.0, partial(decoding, make), memory=True)
        for name, make in LAYERS.items()
    ),
)
