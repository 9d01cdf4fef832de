"""Sparse attention on a graph by sparse matrix products: time and memory grow with the edges, not with nodes squared.

Scores are a sampled product, sums of values a weighted bag of rows, see `zoo.core.ops.csr`; head by head, or as many
heads at once as fit the cache. Between forward and backward only q, k, v, the answer and the log-sum-exp of each row
are kept, and scores are computed anew; of a small graph, up to `REMEMBERED` weights are kept as well. Vectors by edge,
of which the usual form keeps three, are never made, except a block at a time for the gradients of an `EdgeBias`, and
for scores that are no products, see `zoo.core.backends.edges.scores`.
Axes: b rows, q queries, k keys, h heads, g heads of keys, n entries, m edges by head; r queries of a part.
"""

from math import inf
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch._compile import _disable_dynamo
from torch.autograd.function import FunctionCtx

from zoo.core.backends import costs
from zoo.core.backends.costs import Cost
from zoo.core.backends.edges.edge_features import FEW, edge_vectors
from zoo.core.backends.edges.partition import Part, Work, check_heads, rows_and_heads, work_of
from zoo.core.backends.edges.scores import Compared, Comparison, LeakyNumbers, LeakySums, Products
from zoo.core.backends.problem import Call, Problem
from zoo.core.ops.csr import Csr
from zoo.core.ops.first_order import REFUSAL, only_once, transforms_active
from zoo.core.patterns.edges import Edges
from zoo.core.scoring.edge_bias import EdgeBias
from zoo.core.scoring.normalizers import upcast
from zoo.core.scoring.scores import LeakySum

REMEMBERED = 1 << 19
"""Weights up to which all are kept for the backward pass, a constant: 2 MiB in float32."""
FEWER = 4
"""Channels of the answer for each entry from which on slopes are averaged entry by entry, not channel by channel."""
NEAR = 16.0
"""How far scores may be apart to be compared with one number: their exponentials keep all digits."""
VECTORS = 1 << 22
"""Entries up to which heads are computed at once where vectors by edge are made a block at a time, for all heads."""


class ByEdges:
    """Compute attention edge by edge."""

    name = "edges"

    def refuses(self, problem: Problem) -> str | None:
        """See `Backend.refuses`."""
        p = problem
        if not isinstance(p.pattern, Edges):
            return "it serves Edges alone"
        if transforms_active():
            return REFUSAL
        if p.device not in ("cpu", "cuda", "meta"):
            return f"{p.device} has no sampled products of sparse matrices"
        if p.start is None or p.placed:
            return "it needs one start for all rows, and keys at 0, 1, 2, …"
        if p.weights:
            return "it keeps no weights"
        if p.norm != "softmax" or p.score not in ("dot", "scaled_dot", "General", "LeakySum"):
            return f"it knows only the softmax of products and of LeakySum, not {p.norm} of {p.score}"
        return None if p.bias in ("", "edges") else f"it adds only what belongs to edges, not a {p.bias} bias"

    def cost(self, problem: Problem) -> Cost:
        """See `Backend.cost`."""
        p = problem
        edges = p.pattern.pairs(p.queries, p.keys, p.start or 0)
        dims = p.head_dim + p.value_dim
        rows, heads = rows_and_heads(edges, p.batch, p.heads, p.grouped, _limit(p.score, p.head_dim))
        copies = rows * heads
        entries = edges * p.batch * p.heads
        stored = edges * copies * (4 * p.size + 5 * 4) + (p.size * entries if p.grad and entries <= REMEMBERED else 0)
        return Cost(
            flops=2 * p.batch * p.heads * edges * dims,
            bytes=p.vectors + stored,
            why=f"computes {edges} edges only, {copies} heads at a time",
            rate=costs.EDGES.at(dims),
            calls=costs.EDGES.calls * -(-p.batch // rows) * -(-p.heads // heads),
        )

    @_disable_dynamo  # `torch.compiler.disable`, which imports the compiler when it is first called, not here
    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        q, k, v = (upcast(x).transpose(1, 2) for x in (call.q, call.k, call.v))
        bias = _fewer(call)
        work = work_of(call, _limit(type(call.score).__name__, q.shape[3]), None if bias is None else bias.kinds)
        of_score = None
        if isinstance(call.score, LeakySum):
            call.score.fit(call.q)
            of_score = None if call.score.v is None else call.score.v.to(q.dtype)
        y: Tensor = _Attend.apply(q, k, v, *_by_place(bias, work.heads, q.dtype), of_score, work)
        return y.transpose(1, 2), None


def _limit(score: str, head_dim: int) -> int | None:
    """Say how many entries are computed at once, if others than usual."""
    return VECTORS if score == "LeakySum" and head_dim > 1 else None


def _fewer(call: Call) -> EdgeBias | None:
    """Give what belongs to edges, or to edge types where these are few enough to take less time."""
    if not isinstance(call.bias, EdgeBias) or call.bias.kinds is None:
        return call.bias if isinstance(call.bias, EdgeBias) else None
    queries, keys = call.q.shape[2], call.k.shape[2]
    edges = call.pattern.pairs(queries, keys, call.start) if isinstance(call.start, int) else 0
    few = call.bias.kinds.count * queries <= FEW * edges and not isinstance(call.score, LeakySum)
    return call.bias if few else call.bias.by_edge()


def _by_place(bias: EdgeBias | None, heads: int, dtype: torch.dtype) -> list[Tensor | None]:
    """Give what the bias adds to scores, keys and values, one row for each edge or kind, and head."""
    if bias is None:
        return [None, None, None]
    check_heads(bias, heads)
    parts = (bias.added, bias.to_keys, bias.to_values)
    return [None if x is None else x.to(dtype).expand(-1, heads, *x.shape[2:]).flatten(0, 1) for x in parts]


class _Attend(torch.autograd.Function):
    """softmax(score(q, k + a) + s) (v + c) over the entries of a sparse matrix; a, c and s belong to edges."""

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        q: Float[Tensor, "b q h d"],
        k: Float[Tensor, "b k g d"],
        v: Float[Tensor, "b k g e"],
        added: Float[Tensor, " m"] | None,
        to_keys: Float[Tensor, "m d"] | None,
        to_values: Float[Tensor, "m e"] | None,
        of_score: Float[Tensor, "h d"] | None,
        work: Work,
    ) -> Float[Tensor, "b q h e"]:
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        compare = _comparison(work, q, of_score)
        y, level = q.new_empty(*q.shape[:3], v.shape[3]), q.new_empty(q.shape[:3])
        remembers = any(ctx.needs_input_grad) and work.entries(len(q)) <= REMEMBERED  # type: ignore[attr-defined]
        remembered: list[Tensor] = []
        for part in work.parts(len(q)):
            csr = part.csr
            weights = _scores(compare, Compared(part, part.of_queries(q), part.of_keys(k), to_keys), added)
            own = _softmax(csr, weights)
            if not remembers:
                level = _put(level, part.batch, part.heads, own)
            dropout_mask = work.dropout_mask(part, weights)
            if remembers:
                remembered.append(weights)
                weights = weights if dropout_mask is None else weights * dropout_mask
            elif dropout_mask is not None:
                weights.mul_(dropout_mask)
            sums = csr.sums(weights, part.of_keys(v))
            if to_values is not None:
                edge_vectors(part).add_sums(sums, weights, to_values)
            y = _put(y, part.batch, part.heads, sums)
        inputs = q, k, v, added, to_keys, to_values, of_score
        ctx.save_for_backward(*inputs, y, level, *remembered)  # type: ignore[arg-type]
        ctx.work = work  # type: ignore[attr-defined]
        return y

    @staticmethod
    @only_once
    def backward(ctx: FunctionCtx, grad: Float[Tensor, "b q h e"]) -> tuple[Tensor | None, ...]:
        work: Work = ctx.work  # type: ignore[attr-defined]
        saved = ctx.saved_tensors  # type: ignore[attr-defined]  # once: a checkpoint hands them out no second time
        *inputs, y, level = saved[:9]
        remembered = list(saved[9:])
        cut: list[Any] = [None if x is None else x.detach() for x in inputs]
        q, k, v, added, to_keys, to_values, of_score = cut
        compare = _comparison(work, q, of_score)
        grads: list[Tensor | None] = [None] * len(inputs)
        for index, x in enumerate(inputs):
            if ctx.needs_input_grad[index]:  # type: ignore[attr-defined]
                grads[index] = torch.empty_like(x) if index < 3 else torch.zeros_like(x)
        few = FEWER * work.entries(len(q)) <= y.numel()
        mean = None if few else -(grad * y).matmul(grad.new_ones(grad.shape[3]))  # over the weights, of their slopes
        grad = grad.contiguous()
        for part in work.parts(len(q)):
            csr = part.csr
            compared = Compared(part, part.of_queries(q), part.of_keys(k), to_keys)
            weights = remembered.pop(0) if remembered else _scores(compare, compared, added, level).exp_()
            given = part.of_queries(grad)
            base = None if mean is None else csr.spread(part.of_queries(mean))
            dropout_mask = work.dropout_mask(part, weights)
            onto = base if dropout_mask is None else None
            if to_values is not None:
                onto = edge_vectors(part).products(given, to_values, 1.0, onto)
            slope = csr.products(given, part.of_keys(v), 1.0, onto)
            if dropout_mask is not None:
                slope.mul_(dropout_mask)
            if base is None:
                slope.sub_(csr.spread(csr.total(slope * weights)))
            elif dropout_mask is not None:
                slope.add_(base)
            slope.mul_(weights)
            weights = weights if dropout_mask is None else weights * dropout_mask
            _collect_values(grads, part, weights, given)
            _collect_scores(grads, compare, compared, slope)
        return *grads, None


def _comparison(work: Work, q: Float[Tensor, "b q h d"], of_score: Float[Tensor, "h d"] | None) -> Comparison:
    """Say how queries and keys are compared."""
    if work.slope is None:
        return Products(work.scale)
    if q.shape[3] == 1:
        return LeakyNumbers(of_score, work.slope)
    return LeakySums(q.new_ones(work.heads, q.shape[3]) if of_score is None else of_score, work.slope)


def _softmax(csr: Csr, scores: Float[Tensor, " n"]) -> Float[Tensor, " r"]:
    """Turn the scores of each row into weights, in place, and give the log of what their exponentials sum to.

    The exponentials of scores that are near each other are taken at one level for all rows, which the weights do not
    know: a maximum for each row takes as long as the products of a small graph.
    """
    level: Tensor | float | None = _common_level(scores)
    if level is None:
        level = csr.most(scores)
        level.masked_fill_(level == -inf, 0)
        scores.sub_(csr.spread(level)).exp_()
    else:
        scores.sub_(level).exp_()
    total = csr.total(scores)
    total.masked_fill_(total == 0, inf)  # nothing to read
    scores.mul_(csr.spread(1 / total))
    return total.log_().add_(level)


def _common_level(scores: Float[Tensor, " n"]) -> float | None:
    """Give the largest score if all are near it; None on a GPU, which would be waited for."""
    if not scores.is_cpu or not len(scores):
        return None
    lowest, highest = torch.aminmax(scores)
    return float(highest) if float(highest - lowest) <= NEAR else None


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
    compare: Comparison, x: Compared, added: Float[Tensor, " m"] | None, level: Tensor | None = None
) -> Float[Tensor, " n"]:
    """Give the scores of a part, over the level of their row if given; -inf for what may not be read."""
    part = x.part
    scores = None if level is None else part.csr.spread(-part.of_queries(level))
    if added is not None:
        own = added.index_select(0, part.places)
        scores = own if scores is None else scores.add_(own)
    scores = compare.scores(x, scores)
    return scores if part.closed is None else scores.masked_fill_(part.closed, -inf)


def _collect_values(
    grads: list[Tensor | None], part: Part, weights: Float[Tensor, " n"], given: Float[Tensor, "r e"]
) -> None:
    """Add what a part gives to the gradients of values.

    Args:
        grads: of the inputs, None where not wanted.
        part: what was computed.
        weights: after dropout.
        given: gradient of the answer.
    """
    of_v, of_values = grads[2], grads[5]
    if of_v is not None:
        grads[2] = _put(of_v, part.batch, part.groups, _by_group(part, part.csr.back_sums(weights, given)))
    if of_values is not None:
        edge_vectors(part).collect(of_values, weights, given)


def _collect_scores(grads: list[Tensor | None], compare: Comparison, x: Compared, slope: Float[Tensor, " n"]) -> None:
    """Add what a part gives to the gradients of what scores are made of.

    Args:
        grads: of the inputs, None where not wanted.
        compare: how scores are made.
        x: of what.
        slope: gradients of the scores; overwritten.
    """
    of_q, of_k, _, of_added, of_keys, _, of_score = grads
    if of_added is not None:
        of_added.index_add_(0, x.part.places, slope)
    if of_q is None and of_k is None and of_keys is None and of_score is None:
        return
    found = compare.gradients(x, slope, of_keys)
    if of_q is not None:
        grads[0] = _put(of_q, x.part.batch, x.part.heads, found.q)
    if of_k is not None:
        grads[1] = _put(of_k, x.part.batch, x.part.groups, _by_group(x.part, found.k))
    if of_score is not None and found.v is not None:
        of_score[x.part.heads] += found.v


def _by_group(part: Part, x: Float[Tensor, "columns d"]) -> Float[Tensor, "c d"]:
    """Sum what heads of queries give to the keys that they share."""
    return x if part.shared == 1 else x.unflatten(0, (-1, part.shared)).sum(1)


BACKEND = ByEdges()
