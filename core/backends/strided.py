"""The strided pattern of the Sparse Transformer: a window and a column share one softmax (arXiv:1904.10509 sec. 4.3).

Positions are laid out as rows of `stride`. A query reads a window of its own row and the row before, and its own column
above those: T·(2·stride + T/stride) scores instead of T².
Axes: b rows of the batch, h heads, r rows, c columns, d, e head sizes.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import pad

from zoo.core.backends import costs
from zoo.core.backends.costs import Cost
from zoo.core.backends.problem import Call, Problem, refused
from zoo.core.backends.reference import raised
from zoo.core.patterns.sparse import Strided
from zoo.core.scoring.normalizers import masked_softmax


class Columns:
    """Compute strided attention from its two parts."""

    name = "strided"

    def refuses(self, problem: Problem) -> str | None:
        """See `Backend.refuses`."""
        if not isinstance(problem.pattern, Strided):
            return "the pattern is not strided"
        if problem.start != 0 or problem.placed or problem.queries != problem.keys:
            return "queries and keys do not stand at the same positions"
        if problem.bias or problem.packed:
            return "it adds no bias and knows no segments"
        return refused(problem)

    def cost(self, problem: Problem) -> Cost:
        """See `Backend.cost`."""
        p = problem
        assert isinstance(p.pattern, Strided)
        stride = p.pattern.stride
        rows = -(-p.queries // stride)
        scores = p.batch * p.heads * rows * stride * (2 * stride + rows)
        flops = 2 * scores * (p.head_dim + p.value_dim)
        why = f"joins a window of {stride} and columns of {rows} in one softmax"
        return Cost(flops, p.vectors + 3 * p.size * scores, why, *costs.STRIDED[:2])

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        assert isinstance(call.pattern, Strided)
        length, stride = call.q.shape[2], call.pattern.stride
        call = raised(call)
        q, k, v = (_rows(x, stride) for x in (call.q, call.k, call.v))
        near_k, near_v = (torch.cat([pad(x, (0, 0, 0, 0, 1, 0))[:, :, :-1], x], 3) for x in (k, v))
        near = q @ near_k.mT
        far = (q.transpose(2, 3) @ k.transpose(2, 3).mT).transpose(2, 3)
        weights = masked_softmax(torch.cat([near, far], -1) * call.scale, _mask(call, stride, q.shape[2]))
        weights = torch.dropout(weights, call.dropout, train=call.dropout > 0)
        near, far = weights.split([2 * stride, q.shape[2]], -1)
        y = near @ near_v + (far.transpose(2, 3) @ v.transpose(2, 3)).transpose(2, 3)
        return y.flatten(2, 3)[:, :, :length], None


def _rows(x: Float[Tensor, "b h n d"], stride: int) -> Float[Tensor, "b h r c d"]:
    return pad(x, (0, 0, 0, -x.shape[2] % stride)).unflatten(2, (-1, stride))


def _mask(call: Call, stride: int, rows: int) -> Bool[Tensor, "#b 1 r c keys"]:
    """Allow the window of the last `stride` positions, and of the column what lies before it."""
    device, length = call.q.device, call.q.shape[2]
    place = torch.arange(rows * stride, device=device).view(rows, stride)
    near = torch.cat([place - stride, place], 1)[:, None]
    far = place.T[None].expand(rows, -1, -1)
    i = place[:, :, None]
    near_mask = (near >= 0) & (near < length) & (near <= i) & (near >= i - stride)
    far_mask = (far < i - stride) & (far < length)
    mask = torch.cat([near_mask, far_mask], -1)[None]
    if call.valid is not None:
        valid = pad(call.valid, (0, rows * stride - length))
        index = torch.cat([near.expand(-1, stride, -1), far], -1).clamp(0, rows * stride - 1)
        mask = mask & valid[:, index]
    return mask[:, None]


BACKEND = Columns()
