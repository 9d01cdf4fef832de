"""PyTorch's FlexAttention: any pattern as a function of positions, compiled to one kernel on a GPU (arXiv:2412.05496).

On a CPU it has no gradients (pytorch/pytorch#169224) and computes every pair, so it serves GPUs only; the tests run it
uncompiled.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from zoo.core.backends import costs
from zoo.core.backends.costs import Cost
from zoo.core.backends.problem import Call, Problem, refused
from zoo.core.patterns.pattern import Pattern

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
KEPT = 64
"""How many masks of tiles are kept."""


class Flex:
    """Hand a pattern to FlexAttention as its `mask_mod`."""

    name = "flex"

    def refuses(self, problem: Problem) -> str | None:
        """See `Backend.refuses`."""
        p = problem
        if p.device != "cuda":
            return f"it serves GPUs, not {p.device}"
        if p.start is None or p.placed:
            return "the positions are not the same for all rows"
        if p.pattern.by_row:
            return "the pattern differs by row or head"
        if p.bias or p.dropout:
            return "it adds no bias and has no dropout here"
        if min(p.head_dim, p.value_dim) < 16 or p.dtype is torch.float64:
            return f"its kernel needs heads of at least 16 in half or single precision, not {p.head_dim} of {p.dtype}"
        return refused(p)

    def cost(self, problem: Problem) -> Cost:
        """See `Backend.cost`."""
        p = problem
        pairs = min(p.queries * p.keys, 2 * p.pattern.pairs(p.queries, p.keys, p.start or 0))  # whole tiles of 128
        flops = 2 * p.batch * p.heads * pairs * (p.head_dim + p.value_dim)
        return Cost(flops, p.vectors, "runs a kernel compiled for the pattern", *costs.FLEX[:2])

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        flex, mask = _kernel(call.q.device.type), block_mask(call)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
            y = flex(
                *(x if torch.is_grad_enabled() else x.detach() for x in (call.q, call.k, call.v)),
                block_mask=mask,
                scale=call.scale,
                enable_gqa=call.q.shape[1] != call.k.shape[1],
            )
        return y, None


def block_mask(call: Call) -> Any:
    """Say which tiles of 128 queries and keys are read; what follows from a pattern's value alone is kept."""
    assert isinstance(call.start, int)
    sizes, device = (call.q.shape[2], call.k.shape[2]), call.q.device
    if call.valid is None and call.segments is None and call.pattern.by_value and not torch.compiler.is_compiling():
        return _cached(call.pattern, call.start, *sizes, device)
    rows = None if call.valid is None and call.segments is None else len(call.q)
    return _made(mask_mod(call), rows, *sizes, device)


@functools.lru_cache(maxsize=KEPT)
def _cached(pattern: Pattern, start: int, queries: int, keys: int, device: torch.device) -> Any:
    with torch.inference_mode(False):  # it is kept for training too
        return _made(pattern.mask_mod(start), None, queries, keys, device)


def _made(mod: MaskMod, rows: int | None, queries: int, keys: int, device: torch.device) -> Any:
    from torch.nn.attention.flex_attention import create_block_mask

    return create_block_mask(mod, rows, None, queries, keys, device=device)


def mask_mod(call: Call) -> MaskMod:
    """Join pattern, padding and packing in one function of positions."""
    assert isinstance(call.start, int)
    mods = [call.pattern.mask_mod(call.start)]
    if (valid := call.valid) is not None:
        mods.append(lambda b, h, q, k: valid[b, k])
    if (segments := call.segments) is not None:
        mods.append(lambda b, h, q, k: segments[0][b, q] == segments[1][b, k])
    from torch.nn.attention.flex_attention import and_masks

    return and_masks(*mods)


@functools.cache
def _kernel(device: str) -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention) if device == "cuda" else flex_attention


BACKEND = Flex()
