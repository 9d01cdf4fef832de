"""`LogGather`: gathers the keys of each query, so that time and memory grow with n log n.

Axes: b rows, h heads, n positions, m keys of each query, d channels.
"""

from typing import Any

import torch
from torch import Tensor

from zoo.core import Call, Cost, Problem

RATE, CALLS = 0.02, 20
"""Speed relative to large products, and kernels started: estimates that `zoo plan log-sparse --measure` tests."""


class LogGather:
    """Compute a pattern that tells its `offsets`.

    Args:
        kind: class of the pattern.
    """

    name = "log_gather"

    def __init__(self, kind: type[Any]) -> None:
        self.kind = kind

    def refuses(self, problem: Problem) -> str | None:
        """See `Backend.refuses`."""
        if not isinstance(problem.pattern, self.kind):
            return f"the pattern is not {self.kind.__name__}"
        if problem.start != 0 or problem.placed or problem.queries != problem.keys:
            return "queries and keys do not stand at the same positions"
        if problem.bias or problem.packed or problem.weights:
            return "it adds no bias, knows no segments and keeps no weights"
        known = problem.norm == "softmax" and problem.score in ("dot", "scaled_dot")
        return None if known else "it knows the softmax of products only"

    def cost(self, problem: Problem) -> Cost:
        """See `Backend.cost`."""
        p = problem
        assert isinstance(p.pattern, self.kind)
        pairs = p.batch * p.heads * p.queries * len(p.pattern.offsets(p.queries))
        gathered = p.size * pairs * (p.head_dim + p.value_dim)
        flops = 2 * pairs * (p.head_dim + p.value_dim)
        return Cost(flops, p.vectors + gathered, "gathers the keys of each query", RATE, CALLS)

    def run(self, call: Call) -> tuple[Tensor, None]:
        """See `Backend.run`; a query with nothing to read gets 0, with gradient 0."""
        assert isinstance(call.pattern, self.kind)
        length, device = call.q.shape[2], call.q.device
        offsets = torch.tensor(call.pattern.offsets(length), device=device)
        at = torch.arange(length, device=device)[:, None] - offsets  # n m
        mask = ((at >= 0) & (at < length))[None, None]
        at = at.clamp(0, max(length - 1, 0))
        if call.valid is not None:
            mask = mask & call.valid[:, at][:, None]
        groups = call.q.shape[1] // call.k.shape[1]
        exact = torch.float32 if call.q.dtype in (torch.float16, torch.bfloat16) else call.q.dtype
        k, v = (x.to(exact).repeat_interleave(groups, 1)[:, :, at] for x in (call.k, call.v))  # b h n m d
        scores = (call.q.to(exact)[:, :, :, None] * k).sum(-1) * call.scale
        weights = scores.masked_fill(~mask, torch.finfo(exact).min).softmax(-1) * mask
        weights = torch.dropout(weights, call.dropout, train=call.dropout > 0)
        return (weights[..., None] * v).sum(3), None
