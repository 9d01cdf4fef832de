"""Attention on a graph with plain indexing: a vector for each edge, gathered and added up; for devices of any kind.

The form that graph libraries use (arXiv:1903.02428 sec. 2). It keeps vectors by edge for the backward pass; where there
are products of sparse matrices, the backend `edges` is several times faster and keeps nothing of the kind.
Axes: b batch, h heads, n edges.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.backends.problem import Call, Cost, Problem
from zoo.core.backends.reference import raised
from zoo.core.edges import Edges


class Scatter:
    """Compute attention edge by edge, by gathering and scattering."""

    name = "scatter"

    def refuses(self, problem: Problem) -> str | None:
        """See `Backend.refuses`."""
        p = problem
        if not isinstance(p.pattern, Edges):
            return "it serves Edges alone"
        if p.start is None or p.placed:
            return "it needs one start for all rows, and keys at 0, 1, 2, …"
        if p.weights:
            return "it keeps no weights"
        if p.norm != "softmax" or p.score not in ("dot", "scaled_dot"):
            return f"it knows only the softmax of products, not {p.norm} of {p.score}"
        return f"it adds no {p.bias} bias" if p.bias else None

    def cost(self, problem: Problem) -> Cost:
        """See `Backend.cost`; nothing of it is a product of matrices, so counters see no operations."""
        p = problem
        entries = p.batch * p.heads * p.pattern.pairs(p.queries, p.keys, p.start or 0)
        flops = 2 * entries * (p.head_dim + p.value_dim)
        stored = 3 * p.size * entries * (p.head_dim + p.value_dim)
        return Cost(flops, p.vectors + stored, "gathers a vector for each edge and adds them up", rate=0.015, calls=15)

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        assert isinstance(call.start, int)
        call = raised(call)
        (b, h, queries, _), keys = call.q.shape, call.k.shape[2]
        source, target = call.pattern.to(call.q.device).edges(queries, keys, call.start)  # type: ignore[attr-defined]
        target = target - call.start
        scores = (call.q[:, :, target] * call.k[:, :, source]).sum(-1) * call.scale
        shut = _shut(call, source, target)
        if shut is not None:
            scores = scores.masked_fill(shut, float("-inf"))
        at = target.expand(b, h, -1)
        top = scores.new_full((b, h, queries), float("-inf")).scatter_reduce(2, at, scores.detach(), "amax")
        weights = (scores - top.masked_fill(top == float("-inf"), 0)[:, :, target]).exp()
        total = scores.new_zeros(b, h, queries).index_add(2, target, weights)
        weights = weights / total.masked_fill(total == 0, 1)[:, :, target]
        weights = torch.dropout(weights, call.dropout, train=call.dropout > 0)
        y = call.v.new_zeros(b, h, queries, call.v.shape[3])
        return y.index_add(2, target, weights[..., None] * call.v[:, :, source]), None


def _shut(call: Call, source: Int[Tensor, " n"], target: Int[Tensor, " n"]) -> Bool[Tensor, "b 1 n"] | None:
    """Say which edges padding and packing shut."""
    if call.valid is None:
        return None
    shut = ~call.valid[:, source]
    if call.segments is not None:
        of_queries, of_keys = call.segments
        shut = shut | (of_queries[:, target] != of_keys[:, source])
    return shut[:, None]


BACKEND = Scatter()
