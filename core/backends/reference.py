"""The oracle: attention as its formula, in any precision, with its weights (arXiv:1706.03762 eq. 1)."""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from zoo.core.backends import costs
from zoo.core.backends.costs import Cost
from zoo.core.backends.problem import Call, Problem
from zoo.core.scoring.edge_bias import EdgeBias
from zoo.core.scoring.normalizers import Hard, Kernel, choose, masked_softmax


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
        flops = 2 * pairs * (p.head_dim + p.value_dim)
        return Cost(flops, p.vectors + 3 * p.size * pairs, "stores every score", *costs.REFERENCE[:2], masked=p.masked)

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        call = raised(call)
        weights = weigh(call)
        dropped = torch.dropout(weights, call.dropout, train=call.dropout > 0)
        return mix(dropped, call), weights


def raised(call: Call) -> Call:
    """Give the call with a key and a value for each query head, half precisions in float32."""
    q, k, v = (x.float() if x.dtype in (torch.bfloat16, torch.float16) else x for x in (call.q, call.k, call.v))
    repeats = q.shape[1] // k.shape[1]
    return replace(call, q=q, k=k.repeat_interleave(repeats, dim=1), v=v.repeat_interleave(repeats, dim=1))


def weigh(call: Call) -> Float[Tensor, "b h q k"]:
    """Give the weights of all pairs; a row with nothing to read is 0, with gradient 0."""
    mask = call.mask()
    if isinstance(call.norm, Kernel):
        scores = call.norm.features(call.q) @ call.norm.features(call.k).mT
        scores = scores if mask is None else scores.masked_fill(~mask, 0)
        total = scores.sum(-1, keepdim=True)
        return scores / torch.where(total == 0, 1, total)
    scores = call.queries @ call.k.mT * call.scale if call.score is None else call.score.scores(call.q, call.k)
    added = call.added()
    if added is not None:
        scores = scores + added
        kept = added.detach() != -torch.inf  # a pair that a bias takes out is one that may not be read
        mask = kept if mask is None else mask & kept
    weights = masked_softmax(scores, mask)
    return choose(weights, call.norm) if isinstance(call.norm, Hard) else weights


def mix(weights: Float[Tensor, "b h q k"], call: Call) -> Float[Tensor, "b h q e"]:
    """Sum the values by their weights, with what the bias adds to a value by its offset."""
    y = weights @ call.v
    if call.bias is None or not weights.numel():
        return y
    if isinstance(call.bias, EdgeBias):
        mixed = call.bias.mixed(weights, call.q, call.i, call.j, call.scale, call.compared)
        return y if mixed is None else y + mixed
    offset = call.j[:, None] - call.i[:, :, None]
    if isinstance(call.start, int) and call.key_positions is None:  # known without looking, for torch.compile
        lowest, highest = 1 - call.start - call.q.shape[2], call.k.shape[2] - 1 - call.start
    else:
        lowest, highest = int(offset.min()), int(offset.max())
    added = call.bias.values(lowest, highest)
    if added is None:
        return y
    b, h, q, k = weights.shape
    index = (offset - lowest)[:, None].expand(b, h, q, k)
    by_offset = weights.new_zeros(b, h, q, added.shape[1]).scatter_add(3, index, weights)
    return y + by_offset @ added.to(y.dtype)


BACKEND = Reference()
