"""The package flash-attn: full, causal and windowed attention in half precision on a GPU (arXiv:2307.08691)."""

import importlib
import importlib.util
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from zoo.core.backends.dense import refused
from zoo.core.backends.problem import Call, Cost, Problem
from zoo.core.local import Window
from zoo.core.pattern import Causal, Full, Pattern


class Flash:
    """Hand a band to flash-attn as its `window_size`."""

    name = "flash"

    def refuses(self, problem: Problem) -> str | None:
        """See `Backend.refuses`."""
        p = problem
        if band(p.pattern) is None:
            return "the pattern is no band"
        if p.device != "cuda" or p.dtype not in (torch.float16, torch.bfloat16):
            return f"it needs half precision on cuda, not {p.dtype} on {p.device}"
        if importlib.util.find_spec("flash_attn") is None:
            return 'flash-attn is not installed: pip install "flash-attn"'
        if p.padded or p.bias or p.placed:
            return "it knows no padding and no bias"
        if p.start is None or p.start + p.queries != p.keys:
            return "it aligns the last query with the last key"
        if p.head_dim != p.value_dim or p.head_dim > 256:
            return f"its heads have one size of at most 256, not {p.head_dim} and {p.value_dim}"
        return refused(p)

    def cost(self, problem: Problem) -> Cost:
        """See `Backend.cost`."""
        p = problem
        pairs = p.pattern.pairs(p.queries, p.keys, p.start or 0)
        flops = 2 * p.batch * p.heads * pairs * (p.head_dim + p.value_dim)
        return Cost(flops, p.vectors, "runs flash-attn's kernel on the band", rate=0.6)

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        function: Any = importlib.import_module("flash_attn").flash_attn_func
        q, k, v = (x.transpose(1, 2) for x in (call.q, call.k, call.v))
        window = band(call.pattern)
        y: Tensor = function(q, k, v, dropout_p=call.dropout, softmax_scale=call.scale, window_size=window)
        return y.transpose(1, 2), None


def band(pattern: Pattern) -> tuple[int, int] | None:
    """Give how far back and ahead a pattern reads, -1 for any distance; None if it is no band."""
    if isinstance(pattern, Full):
        return -1, -1
    if isinstance(pattern, Causal):
        return -1, 0
    return (pattern.left, pattern.right) if isinstance(pattern, Window) and pattern.dilation == 1 else None


BACKEND = Flash()
