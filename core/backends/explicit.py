"""Attention by its formula, a block of queries at a time: any score and norm, with memory for one block.

In training each block is computed anew for its gradient, as arXiv:2112.05682 does, so nothing square is kept.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from zoo.core.backends import costs
from zoo.core.backends.costs import Cost
from zoo.core.backends.problem import Call, Problem
from zoo.core.backends.reference import mix, raised, weigh

BLOCK = 1 << 22
"""Scores in one block, over rows and heads: 16 MiB in float32."""


class Explicit:
    """Compute attention by its formula in blocks of queries."""

    name = "explicit"

    def refuses(self, problem: Problem) -> str | None:
        """See `Backend.refuses`."""
        return None

    def cost(self, problem: Problem) -> Cost:
        """See `Backend.cost`; weights, where wanted, are kept."""
        p = problem
        pairs = p.batch * p.heads * p.queries * p.keys
        step = length(p.batch * p.heads * p.keys, p.queries)
        blocks = -(-p.queries // step)
        stored = p.size * (pairs if p.weights else 3 * step * p.batch * p.heads * p.keys)
        flops = 2 * pairs * (p.head_dim + p.value_dim)
        why = f"computes {step} queries at a time and stores their scores only"
        return Cost(flops, p.vectors + stored, why, costs.EXPLICIT.rate, costs.EXPLICIT.calls * blocks, p.masked)

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        call = raised(call)
        queries = call.q.shape[2]
        step = length(call.q.shape[0] * call.q.shape[1] * call.k.shape[2], queries)
        if step >= queries:
            return _block(call)
        parts = [call.part(first, min(first + step, queries)) for first in range(0, queries, step)]
        if call.needs_grad and not call.weights:
            done = [checkpoint(_block, part, use_reentrant=False) for part in parts]
            return torch.cat([y for y, _ in done], 2), None
        answers, weights = zip(*map(_block, parts), strict=True)
        return torch.cat(answers, 2), torch.cat(weights, 2)


def length(scores: int, queries: int) -> int:
    """Give how many queries make a block.

    Args:
        scores: of one query, over rows and heads.
        queries: of all.
    """
    return max(1, min(queries, BLOCK // max(scores, 1)))


def _block(call: Call) -> tuple[Tensor, Tensor]:
    weights = weigh(call)
    dropped = torch.dropout(weights, call.dropout, train=call.dropout > 0)
    return mix(dropped, call), weights


BACKEND = Explicit()
