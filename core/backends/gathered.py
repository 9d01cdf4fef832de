"""Gathered attention: groups of queries with similar key sets are computed densely on the gathered keys.

Blocks of BigBird (arXiv:2007.14062), stretches of the Sparse Transformer (arXiv:1904.10509), tiles of a grid.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.backends import costs
from zoo.core.backends.costs import Cost
from zoo.core.backends.problem import Call, Problem, refused
from zoo.core.backends.query_groups import Bucket, buckets, counted, groupable
from zoo.core.ops.fused_attention import fused_attention


class Gathered:
    """Compute attention group by group, groups of about the same size at once."""

    name = "gathered"

    def refuses(self, problem: Problem) -> str | None:
        """See `Backend.refuses`."""
        if problem.pattern.by_row or not groupable(problem.pattern):
            return "the pattern has no groups of queries that read the same keys"
        if problem.start is None or problem.placed:
            return "the positions are not the same for all rows"
        if problem.start < 0:
            return "queries stand before position 0, where no group is"
        if problem.bias:
            return "it adds no bias"
        return refused(problem)

    def cost(self, problem: Problem) -> Cost:
        """See `Backend.cost`."""
        p = problem
        assert p.start is not None
        pairs, copies, calls = counted(p.pattern, p.queries, p.keys, p.start)
        gathered = p.size * p.batch * p.heads * copies * (p.head_dim + p.value_dim)
        flops = 2 * p.batch * p.heads * pairs * (p.head_dim + p.value_dim)
        why = f"gathers the keys of {calls} sizes of groups of queries"
        rate = costs.GATHERED.at(max(1, pairs / max(p.queries, 1)))
        return Cost(flops, p.vectors + gathered, why, rate, costs.GATHERED.calls * calls)

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        assert isinstance(call.start, int)
        b, h, queries, _ = call.q.shape
        found = buckets(call.pattern, queries, call.k.shape[2], call.start, call.q.device)
        answers = [_answer(call, bucket) for bucket in found]
        attached = sum(x[:, :, :0].sum() for x in (call.q, call.k, call.v))  # a zero that has gradients
        nothing = call.v.new_zeros(b, h, 1, call.v.shape[3]) + attached  # for queries that are in no group
        places = torch.full((queries + 1,), sum(x.shape[2] for x in answers), device=call.q.device)
        order = torch.cat(
            [torch.empty(0, dtype=torch.long, device=call.q.device), *(x.queries.flatten() for x in found)]
        )
        places[order] = torch.arange(len(order), device=call.q.device)  # padding, -1, lands behind the queries
        return torch.cat([*answers, nothing], 2)[:, :, places[:queries]], None


def _answer(call: Call, bucket: Bucket) -> Float[Tensor, "b h ns e"]:
    """Compute the groups of one bucket; rows and heads are the kernel's batch, groups its heads."""
    b, h = call.q.shape[:2]
    q = call.q[:, :, bucket.queries.clamp(min=0)]
    k, v = (_gather(x, bucket.keys, h) for x in (call.k, call.v))
    mask = _mask(call, bucket)
    q, k, v = (x.flatten(0, 1) for x in (q, k, v))
    y = fused_attention(q, k, v, mask, dropout=call.dropout, scale=call.scale)
    return y.unflatten(0, (b, h)).flatten(2, 3)


def _gather(x: Float[Tensor, "b g k d"], index: Int[Tensor, "n m"], heads: int) -> Float[Tensor, "b h n m d"]:
    gathered = x[:, :, index.clamp(min=0)]
    return gathered if heads == x.shape[1] else gathered.repeat_interleave(heads // x.shape[1], dim=1)


def _mask(call: Call, bucket: Bucket) -> Tensor:
    """Say what the queries of each group may read of its keys: (1 or rows·heads, groups, queries, keys)."""
    mask = bucket.allowed[None]
    keys = bucket.keys.clamp(min=0)
    if call.valid is not None:
        mask = mask & call.valid[:, keys][:, :, None]
    if call.segments is not None:
        of_queries, of_keys = call.segments
        mask = mask & (of_queries[:, bucket.queries.clamp(min=0)][..., None] == of_keys[:, keys][:, :, None])
    return mask if len(mask) == 1 else mask.repeat_interleave(call.q.shape[1], dim=0)


BACKEND = Gathered()
