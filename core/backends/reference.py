"""The oracle: attention as its formula, in any precision, with its weights (arXiv:1706.03762 eq. 1)."""

import torch
from jaxtyping import Float
from torch import Tensor

from zoo.core.backends.problem import Call, Cost, Problem


class Reference:
    """Compute attention by its formula; half precisions are raised to float32 in between."""

    name = "reference"

    def refuses(self, problem: Problem) -> str | None:
        """See `Backend.refuses`."""
        return None

    def cost(self, problem: Problem) -> Cost:
        """See `Backend.cost`."""
        p = problem
        pairs = p.batch * p.heads * p.queries * p.keys
        size = torch.finfo(p.dtype).bits // 8
        vectors = p.batch * (p.heads * p.queries + p.heads * p.keys) * (p.head_dim + p.value_dim)
        return Cost(2 * pairs * (p.head_dim + p.value_dim), size * (vectors + 3 * pairs), "stores every score")

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        q, k, v = (x.float() if x.dtype in (torch.bfloat16, torch.float16) else x for x in (call.q, call.k, call.v))
        repeats = q.shape[1] // k.shape[1]
        k, v = (x.repeat_interleave(repeats, dim=1) for x in (k, v))
        scores = q @ k.mT * call.scale
        if call.bias is not None:
            scores = scores + call.bias
        weights = masked_softmax(scores, call)
        dropped = torch.dropout(weights, call.dropout, train=call.dropout > 0)
        return (dropped @ v).to(call.v.dtype), weights.to(call.v.dtype)


def masked_softmax(scores: Float[Tensor, "b h q k"], call: Call) -> Float[Tensor, "b h q k"]:
    """Normalise each row over what it may read; a row with nothing to read is 0, with gradient 0."""
    mask = call.mask()
    if mask is None:
        return scores.softmax(-1)
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(-1).masked_fill(~mask, 0)


BACKEND = Reference()
