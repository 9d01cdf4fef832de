"""Sparse attention on a graph by gather and scatter: a vector for each edge, on any device.

The form that graph libraries use (arXiv:1903.02428 sec. 2). It keeps vectors by edge for the backward pass; where there
are products of sparse matrices, the backend `edges` is several times faster and keeps nothing of the kind.
Axes: b batch, h heads, n edges.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from zoo.core.backends import costs
from zoo.core.backends.costs import Cost
from zoo.core.backends.edges.partition import check_heads
from zoo.core.backends.problem import Call, Problem
from zoo.core.backends.reference import raised
from zoo.core.ops.csr import Csr
from zoo.core.patterns.edges import Edges
from zoo.core.scoring.edge_bias import EdgeBias


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
        if p.norm != "softmax":
            return f"it knows only the softmax, not {p.norm}"
        return None if p.bias in ("", "edges") else f"it adds only what belongs to edges, not a {p.bias} bias"

    def cost(self, problem: Problem) -> Cost:
        """See `Backend.cost`; nothing of it is a product of matrices, so counters see no operations."""
        p = problem
        entries = p.batch * p.heads * p.pattern.pairs(p.queries, p.keys, p.start or 0)
        flops = 2 * entries * (p.head_dim + p.value_dim)
        stored = 3 * p.size * entries * (p.head_dim + p.value_dim)
        return Cost(flops, p.vectors + stored, "gathers a vector for each edge and adds them up", *costs.SCATTER[:2])

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        call = raised(call)
        weights, csr = weigh_edges(call)
        weights = torch.dropout(weights, call.dropout, train=call.dropout > 0)
        values = call.v[:, :, csr.columns]
        bias = call.bias.by_edge() if isinstance(call.bias, EdgeBias) else None
        if bias is not None and bias.to_values is not None:
            values = values + _of_edges(bias.to_values, csr, call)
        y = call.v.new_zeros(*call.q.shape[:3], call.v.shape[3])
        return y.index_add(2, csr.rows, weights[..., None] * values), None


def weigh_edges(call: Call) -> tuple[Float[Tensor, "b h n"], Csr]:
    """Give the weight of each edge, and the edges: those that count, ordered by query.

    Args:
        call: with as many heads of keys as of queries.
    """
    assert isinstance(call.pattern, Edges)
    assert isinstance(call.start, int)
    (b, h, queries, _), keys = call.q.shape, call.k.shape[2]
    csr = call.pattern.to(call.q.device).csr(queries, keys, call.start, h)
    scores = _scores(call, csr)
    masked = _masked_edges(call, csr)
    if masked is not None:
        scores = scores.masked_fill(masked, float("-inf"))
    at = csr.rows.long().expand(b, h, -1)
    top = scores.new_full((b, h, queries), float("-inf")).scatter_reduce(2, at, scores.detach(), "amax")
    weights = (scores - top.masked_fill(top == float("-inf"), 0)[:, :, csr.rows]).exp()
    total = scores.new_zeros(b, h, queries).index_add(2, csr.rows, weights)
    return weights / total.masked_fill(total == 0, 1)[:, :, csr.rows], csr


def _scores(call: Call, csr: Csr) -> Float[Tensor, "b h n"]:
    q, k, added = call.q[:, :, csr.rows], call.k[:, :, csr.columns], None
    if isinstance(call.bias, EdgeBias):
        bias = call.bias.by_edge()
        check_heads(bias, q.shape[1])
        if bias.to_keys is not None:
            k = k + _of_edges(bias.to_keys, csr, call)
        if bias.added is not None:
            added = _of_edges(bias.added, csr, call)
    scores = (q * k).sum(-1) * call.scale if call.score is None else call.score.compare(q, k)
    return scores if added is None else scores + added


def _of_edges(x: Float[Tensor, "m heads ..."], csr: Csr, call: Call) -> Float[Tensor, "heads n ..."]:
    """Give what belongs to edges by head, in the order of the entries."""
    return x.to(call.q.dtype)[csr.edges].movedim(1, 0)


def _masked_edges(call: Call, csr: Csr) -> Bool[Tensor, "b 1 n"] | None:
    """Tell which edges padding and packing mask."""
    if call.valid is None:
        return None
    masked = ~call.valid[:, csr.columns]
    if call.segments is not None:
        of_queries, of_keys = call.segments
        masked = masked | (of_queries[:, csr.rows] != of_keys[:, csr.columns])
    return masked[:, None]


BACKEND = Scatter()
