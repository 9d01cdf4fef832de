"""Attention on a graph in time and memory that follow its edges, not the square of its nodes.

Scores are a sampled product, sums of values a weighted bag of rows, see `zoo.core.csr`; head by head, or as many heads
at once as fit the cache. Between forward and backward only q, k, v, the answer and the log-sum-exp of each row are
kept, and scores are computed anew; of a small graph, up to `REMEMBERED` weights are kept as well. Vectors by edge, of
which the usual form keeps three, are never made, except a block at a time for the gradients of an `EdgeBias`.
Axes: b rows, q queries, k keys, h heads, g heads of keys, n entries, m edges by head; r queries of a part.
"""

from math import inf
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from zoo.core.backends.edge_parts import BLOCK, Part, Work, at_once, work_of
from zoo.core.backends.problem import Call, Cost, Problem
from zoo.core.bias import Bias
from zoo.core.edges import EdgeBias, Edges
from zoo.core.errors import InputError
from zoo.core.norm import upcast

RATE, OVERHEAD = 0.125, 16
"""Operations a second relative to large products, and the channels whose time an edge takes besides its own.

Measured against the dense backend with 50 to 2000 nodes, 0.5 % to 50 % of the pairs, heads of 16 and 64, one thread:
the two are level at about half of the pairs forward, a quarter with gradients; the prediction lies at a quarter.
"""
REMEMBERED = 1 << 19
"""Weights up to which all are kept for the backward pass, a constant: 2 MiB in float32."""
CALLS = 40
"""Kernels in the time that a part takes at the least."""


class ByEdges:
    """Compute attention edge by edge."""

    name = "edges"

    def refuses(self, problem: Problem) -> str | None:
        """See `Backend.refuses`."""
        p = problem
        if not isinstance(p.pattern, Edges):
            return "it serves Edges alone"
        if p.device not in ("cpu", "cuda", "meta"):
            return f"{p.device} has no sampled products of sparse matrices"
        if p.start is None or p.placed:
            return "it needs one start for all rows, and keys at 0, 1, 2, …"
        if p.weights:
            return "it keeps no weights"
        if p.norm != "softmax" or p.score not in ("dot", "scaled_dot", "General"):
            return f"it knows only the softmax of products, not {p.norm} of {p.score}"
        return None if p.bias in ("", "edges") else f"it adds only what belongs to edges, not a {p.bias} bias"

    def cost(self, problem: Problem) -> Cost:
        """See `Backend.cost`."""
        p = problem
        edges = p.pattern.pairs(p.queries, p.keys, p.start or 0)
        dims = p.head_dim + p.value_dim
        rows, heads = at_once(edges, p.batch, p.heads, p.grouped)
        copies = rows * heads
        entries = edges * p.batch * p.heads
        stored = edges * copies * (4 * p.size + 5 * 4) + (p.size * entries if p.grad and entries <= REMEMBERED else 0)
        return Cost(
            flops=2 * p.batch * p.heads * edges * dims,
            bytes=p.vectors + stored,
            why=f"computes {edges} edges only, {copies} heads at a time",
            rate=RATE * dims / (dims + OVERHEAD),
            calls=CALLS * -(-p.batch // rows) * -(-p.heads // heads),
        )

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        q, k, v = (upcast(x).transpose(1, 2) for x in (call.q, call.k, call.v))
        work = work_of(call)
        extras = _by_place(call.bias, work.heads, q.dtype)
        y: Tensor = _Attend.apply(q, k, v, *extras, work)
        return y.transpose(1, 2), None


def _by_place(bias: Bias | None, heads: int, dtype: torch.dtype) -> list[Tensor | None]:
    """Give what the bias adds to scores, keys and values, one row for each edge and head."""
    if not isinstance(bias, EdgeBias):
        return [None, None, None]
    for x in bias.tensors:
        if x.shape[1] not in (1, heads):
            raise InputError(f"an EdgeBias of {x.shape[1]} heads for {heads} heads")
    parts = (bias.added, bias.to_keys, bias.to_values)
    return [None if x is None else x.to(dtype).expand(-1, heads, *x.shape[2:]).flatten(0, 1) for x in parts]


class _Attend(torch.autograd.Function):
    """softmax(scale q (k + a)ᵀ + s) (v + c) over the entries of a sparse matrix; a, c and s belong to edges."""

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        q: Float[Tensor, "b q h d"],
        k: Float[Tensor, "b k g d"],
        v: Float[Tensor, "b k g e"],
        added: Float[Tensor, " m"] | None,
        to_keys: Float[Tensor, "m d"] | None,
        to_values: Float[Tensor, "m e"] | None,
        work: Work,
    ) -> Float[Tensor, "b q h e"]:
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        y, level = q.new_empty(*q.shape[:3], v.shape[3]), q.new_empty(q.shape[:3])
        remembers = any(ctx.needs_input_grad) and work.entries(len(q)) <= REMEMBERED  # type: ignore[attr-defined]
        remembered: list[Tensor] = []
        for part in work.parts(len(q), any(x is not None for x in (added, to_keys, to_values))):
            csr = part.csr
            weights = _scores(work, part, q, k, added, to_keys)
            top = csr.most(weights)
            top.masked_fill_(top == -inf, 0)
            weights.sub_(csr.spread(top)).exp_()
            total = csr.total(weights)
            total.masked_fill_(total == 0, inf)  # nothing to read
            weights.mul_(csr.spread(1 / total))
            level = _put(level, part.batch, part.heads, total.log_().add_(top))
            kept = work.kept(part, weights)
            if remembers:
                remembered.append(weights)
                weights = weights if kept is None else weights * kept
            elif kept is not None:
                weights.mul_(kept)
            sums = csr.sums(weights, part.of_keys(v))
            if to_values is not None:
                sums += csr.sums(weights, to_values, part.of_edges)
            y = _put(y, part.batch, part.heads, sums)
        ctx.save_for_backward(q, k, v, added, to_keys, to_values, y, level, *remembered)  # type: ignore[arg-type]
        ctx.work = work  # type: ignore[attr-defined]
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Float[Tensor, "b q h e"]) -> tuple[Tensor | None, ...]:
        work: Work = ctx.work  # type: ignore[attr-defined]
        *inputs, y, level = ctx.saved_tensors[:8]  # type: ignore[attr-defined]
        remembered = list(ctx.saved_tensors[8:])  # type: ignore[attr-defined]
        cut: list[Any] = [None if x is None else x.detach() for x in inputs]
        q, k, v, added, to_keys, to_values = cut
        grads: list[Tensor | None] = [None] * len(inputs)
        for index, x in enumerate(inputs):
            if ctx.needs_input_grad[index]:  # type: ignore[attr-defined]
                grads[index] = torch.empty_like(x) if index < 3 else torch.zeros_like(x)
        mean = -(grad * y).matmul(grad.new_ones(grad.shape[3]))  # over the weights, of their slopes
        grad = grad.contiguous()
        for part in work.parts(len(q), any(x is not None for x in inputs[3:])):
            csr = part.csr
            weights = remembered.pop(0) if remembered else _scores(work, part, q, k, added, to_keys, level).exp_()
            given = part.of_queries(grad)
            base = csr.spread(part.of_queries(mean))
            kept = work.kept(part, weights)
            slope = csr.products(given, part.of_keys(v), 1.0, base if kept is None else None)
            if to_values is not None:
                csr.products(given, to_values, 1.0, slope, part.places)
            if kept is not None:
                slope.mul_(kept).add_(base)
            slope.mul_(weights).mul_(work.scale)
            weights = weights if kept is None else weights * kept
            _collect(grads, part, weights, given, slope, work.scale, (q, k, to_keys))
        return *grads, None


def _put(
    to: Float[Tensor, "b n h *d"], batch: slice, heads: slice, x: Float[Tensor, " r *d"]
) -> Float[Tensor, "b n h *d"]:
    """Write what a part gives to its place; a part that is the whole takes it."""
    own = to[batch, :, heads]
    if own.shape == to.shape:
        return x.view_as(to)
    own.copy_(x.view_as(own))
    return to


def _scores(
    work: Work,
    part: Part,
    q: Tensor,
    k: Tensor,
    added: Tensor | None,
    to_keys: Tensor | None,
    level: Tensor | None = None,
) -> Float[Tensor, " n"]:
    """Give the scores of a part, over the level of their row if given; -inf for what may not be read."""
    q, k = part.of_queries(q), part.of_keys(k)
    scores = None if level is None else part.csr.spread(-part.of_queries(level))
    if added is not None:
        own = added.index_select(0, part.of_edges)
        scores = own if scores is None else scores.add_(own)
    scores = part.csr.products(q, k, work.scale, scores)
    if to_keys is not None:
        part.csr.products(q, to_keys, work.scale, scores, part.places)
    return scores if part.closed is None else scores.masked_fill_(part.closed, -inf)


def _collect(
    grads: list[Tensor | None],
    part: Part,
    weights: Float[Tensor, " n"],
    given: Float[Tensor, "r e"],
    slope: Float[Tensor, " n"],
    scale: float,
    inputs: tuple[Tensor, Tensor, Tensor | None],
) -> None:
    """Add what a part gives to the gradients that are wanted.

    Args:
        grads: of the six inputs, None where not wanted.
        part: what was computed.
        weights: of the values, after dropout.
        given: gradient of the answer.
        slope: gradients of the products, which are scores over the scale.
        scale: of the scores.
        inputs: queries, keys, and what edges add to keys.
    """
    csr = part.csr
    q, k, to_keys = inputs
    of_q, _, _, of_added, of_keys, of_values = grads
    queries = part.of_queries(q)
    if of_q is not None:
        sums = csr.sums(slope, part.of_keys(k))
        if to_keys is not None:
            sums += csr.sums(slope, to_keys, part.of_edges)
        grads[0] = _put(of_q, part.batch, part.heads, sums)
    for index, numbers, vectors in ((1, slope, queries), (2, weights, given)):
        to = grads[index]
        if to is not None:
            sums = csr.back_sums(numbers, vectors)
            if part.shared > 1:
                sums = sums.unflatten(0, (-1, part.shared)).sum(1)
            grads[index] = _put(to, part.batch, part.groups, sums)
    if of_added is not None:
        of_added.index_add_(0, part.of_edges, slope, alpha=1 / scale)
    for to, numbers, vectors in ((of_keys, slope, queries), (of_values, weights, given)):
        if to is not None:
            _add_vectors(to, part, numbers, vectors)


def _add_vectors(to: Float[Tensor, "m d"], part: Part, numbers: Float[Tensor, " n"], of: Float[Tensor, "r d"]) -> None:
    """Add to each edge its row's vector times its number, block by block."""
    for first in range(0, len(numbers), BLOCK):
        block = slice(first, first + BLOCK)
        vectors = of.index_select(0, part.csr.rows[block]).mul_(numbers[block, None])
        to.index_add_(0, part.of_edges[block], vectors)


BACKEND = ByEdges()
