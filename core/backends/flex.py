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

from zoo.core.backends.dense import refused
from zoo.core.backends.problem import Call, Cost, Problem


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
        return Cost(flops, p.vectors, "runs a kernel compiled for the pattern", rate=0.4, calls=4)

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        flex, block_mask = _functions(call.q.device.type)
        b, _, queries, _ = call.q.shape
        rows = None if call.valid is None and call.segments is None else b
        mask = block_mask(mask_mod(call), rows, None, queries, call.k.shape[2], device=call.q.device)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
            y = flex(
                *(x if torch.is_grad_enabled() else x.detach() for x in (call.q, call.k, call.v)),
                block_mask=mask,
                scale=call.scale,
                enable_gqa=call.q.shape[1] != call.k.shape[1],
            )
        return y, None


def mask_mod(call: Call) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
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
def _functions(device: str) -> tuple[Any, Any]:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    return (
        (torch.compile(flex_attention), create_block_mask) if device == "cuda" else (flex_attention, create_block_mask)
    )


BACKEND = Flex()
