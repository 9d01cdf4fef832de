"""Overhead of the engine: `attend` against the bare kernel; and the size of a decoder's cache."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from zoo.bench.speed.case import Case, Job
from zoo.core.cache.growing import Growing
from zoo.core.cache.ring import state_for
from zoo.core.cache.state import KeyValues
from zoo.core.engine.dispatch import attend
from zoo.core.patterns.local import Window

BATCH, TOKENS, HEADS, HEAD_DIM = 8, 197, 6, 64
"""A layer of ViT-S/16 at 224 pixels, arXiv:2010.11929 table 1 and arXiv:2012.12877 table 1."""


def bare(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Call the kernel on the layout of `attend`."""
    return scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)


def kernel(step: bool) -> tuple[Job, Job]:
    """Make the job of `attend` and that of the kernel; q, k and v are cut from one product, as models make them.

    Args:
        step: whether to compute gradients too.
    """
    torch.manual_seed(0)
    qkv = torch.randn(BATCH, TOKENS, 3, HEADS, HEAD_DIM, requires_grad=step)
    upstream = torch.randn(BATCH, TOKENS, HEADS, HEAD_DIM)

    def forward(function: partial[Tensor]) -> None:
        with torch.no_grad():
            function(*qkv.unbind(2))

    def both(function: partial[Tensor]) -> None:
        torch.autograd.grad(function(*qkv.unbind(2)), qkv, upstream)

    run = both if step else forward
    return partial(run, partial(attend)), partial(run, partial(bare))


WINDOW, TOKENS_WRITTEN = 256, 10_000
"""Tokens that a decoder looks back at, and tokens that it has written in the end."""
CHUNK, STEPS = 100, 500
"""Tokens of which keys and values are kept at once at first, and the last tokens, which are written one by one."""


def decode(state: Callable[[], KeyValues], tokens: int, vectors: Tensor) -> None:
    """Fill a state, and write the last tokens one by one, each reading what is kept.

    Args:
        state: makes the state.
        tokens: how many there are in the end.
        vectors: what is written at once at first, (1, chunk, heads, head_dim).
    """
    kept = state()
    for _ in range(0, tokens - STEPS, CHUNK):
        kept.append(vectors, vectors)
    vector = vectors[:, :1]
    for step in range(tokens - STEPS, tokens):
        read = kept.append(vector, vector)
        attend(vector, read.k, read.v, Window(WINDOW, 0), read.keys, q_start=step, k_positions=read.positions)


def decoding(ours: tuple[Callable[[], KeyValues], int], other: tuple[Callable[[], KeyValues], int]) -> tuple[Job, Job]:
    """Make two jobs that decode, each with its state and its number of tokens.

    There is one head of 16 channels, since sizes cancel in the ratio.
    """
    vectors = torch.ones(1, CHUNK, 1, 16)
    return partial(decode, *ours, vectors), partial(decode, *other, vectors)


ring, growing = partial(state_for, Window(WINDOW, 0), 1), partial(Growing, 1)

CASES = [
    *(
        Case(f"attend at ViT-S shape, {what}", "bare SDPA", 1.03, build=partial(kernel, step), repeats=repeats)
        for what, step, repeats in (("forward", False, 20), ("forward + backward", True, 5))
    ),
    Case(
        "cached decoding, window 256, at 10,000 tokens",
        "growing cache",
        0.05,
        build=partial(decoding, (ring, TOKENS_WRITTEN), (growing, TOKENS_WRITTEN)),
        memory=True,
    ),
    Case(
        "cached decoding, window 256, at 10,000 tokens",
        "itself, at 1,000 tokens",
        1.0,
        build=partial(decoding, (ring, TOKENS_WRITTEN), (ring, TOKENS_WRITTEN // 10)),
        memory=True,
    ),
]
