"""The package flash-attn: full, causal and windowed attention in half precision on a GPU (arXiv:2307.08691).

Packed sets, and padding where everything is read, go through its form for sets of different lengths.
Axes: see `zoo.core.backends.problem`; n vectors of all rows that are there, s sets.
"""

import importlib
import importlib.util
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.backends import costs
from zoo.core.backends.costs import Cost
from zoo.core.backends.problem import Call, Problem, refused
from zoo.core.patterns.basic import Causal
from zoo.core.patterns.local import Window
from zoo.core.patterns.pattern import Full, Pattern


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
        if p.bias or p.placed:
            return "it knows no bias, and no positions of keys"
        reason = _padding_reason(p) if p.padded else _alignment_reason(p)
        if reason is not None:
            return reason
        if p.head_dim != p.value_dim or p.head_dim > 256:
            return f"its heads have one size of at most 256, not {p.head_dim} and {p.value_dim}"
        return refused(p)

    def cost(self, problem: Problem) -> Cost:
        """See `Backend.cost`."""
        p = problem
        pairs = p.pattern.pairs(p.queries, p.keys, p.start or 0)
        flops = 2 * p.batch * p.heads * pairs * (p.head_dim + p.value_dim)
        return Cost(flops, p.vectors, "runs flash-attn's kernel on the band", *costs.FLASH[:2])

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        package: Any = importlib.import_module("flash_attn")
        q, k, v = (x.transpose(1, 2) for x in (call.q, call.k, call.v))
        given = {"dropout_p": call.dropout, "softmax_scale": call.scale, "window_size": band(call.pattern)}
        if call.valid is None:
            y: Tensor = package.flash_attn_func(q, k, v, **given)
            return y.transpose(1, 2), None
        of_keys = call.valid.flatten().nonzero()[:, 0]
        if call.segments is None:
            of_queries = torch.arange(q.shape[0] * q.shape[1], device=q.device)
            ends_q = torch.arange(q.shape[0] + 1, device=q.device, dtype=torch.int32) * q.shape[1]
            ends_k = cumulated(call.valid.sum(1))
        else:
            of_queries, ends_q = of_keys, borders(call.segments[1], call.valid)
            ends_k = ends_q
        flat = [x.flatten(0, 1)[at] for x, at in ((q, of_queries), (k, of_keys), (v, of_keys))]
        if len(of_keys):
            longest = [int(ends.diff().max()) for ends in (ends_q, ends_k)]
            found = package.flash_attn_varlen_func(*flat, ends_q, ends_k, *longest, **given)
        else:
            found = flat[0] * 0  # which has a gradient, 0
        y = q.new_zeros(q.shape[0] * q.shape[1], *q.shape[2:]).index_copy(0, of_queries, found)
        return y.unflatten(0, q.shape[:2]).transpose(1, 2), None


def _padding_reason(p: Problem) -> str | None:
    if not p.packed:
        return None if isinstance(p.pattern, Full) else "it knows padding only where everything is read"
    if not p.together or p.start != 0 or p.queries != p.keys:
        return "it packs sets that read themselves, each in one piece, from position 0 on"
    return None


def _alignment_reason(p: Problem) -> str | None:
    if p.start is None or p.start + p.queries != p.keys:
        return "it aligns the last query with the last key"
    return None


def borders(ids: Int[Tensor, "b k"], valid: Bool[Tensor, "b k"]) -> Int[Tensor, " s"]:
    """Give where sets begin among the vectors that are there, and where the last one ends."""
    rows = torch.arange(len(ids), device=ids.device)[:, None].expand_as(ids)
    sets = torch.stack([rows[valid], ids[valid]])
    return cumulated(torch.unique_consecutive(sets, dim=1, return_counts=True)[1])


def cumulated(lengths: Int[Tensor, " s"]) -> Int[Tensor, " borders"]:
    """Give where sets of these lengths begin and end, if they stand one behind the other."""
    return torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)


def band(pattern: Pattern) -> tuple[int, int] | None:
    """Give how far back and ahead a pattern reads, -1 for any distance; None if it is no band."""
    if isinstance(pattern, Full):
        return -1, -1
    if isinstance(pattern, Causal):
        return -1, 0
    return (pattern.left, pattern.right) if isinstance(pattern, Window) and pattern.dilation == 1 else None


BACKEND = Flash()
