"""Products of queries and keys that decay between them, in each channel or in all alike.

Axes: as in `zoo.core.ops.recurrence.steps`; m blocks, h tokens of half a block.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from zoo.core.ops.first_order import only_once
from zoo.core.ops.recurrence.steps import decays_between


def pairs(
    q: Float[Tensor, "*b n d"], k: Float[Tensor, "*b n d"], decay: Float[Tensor, "*b n c"] | None
) -> Float[Tensor, "*b n n"]:
    """Give Σ_c q_tc k_sc exp(Σ_{s<r≤t} decay_rc) for each query t and key s ≤ t, and 0 for s > t."""
    if decay is None:
        return (q @ k.mT).tril()
    if decay.shape[-1] == 1:
        return (q @ k.mT) * decays_between(decay)
    n = q.shape[-2]
    behind = (0, 0, 0, (1 << (n - 1).bit_length()) - n)
    found: Tensor = ByChannel.apply(*(pad(x, behind) for x in (q, k, decay)))
    return found[..., :n, :n]


class ByChannel(torch.autograd.Function):
    """`pairs` with a decay for each channel, of a power of two of tokens, by halves of blocks.

    A query in the right half of a block and a key in its left half are exp(decays from the middle to the query) and
    exp(decays from the key to the middle) apart: two factors of at most 1, and one product for all pairs of the two
    halves. exp(-G_s) of the usual form q exp(G_t) · k exp(-G_s) overflows where decays are strong (arXiv:2312.06635
    sec. 4.3). The backward pass is written by hand, since autograd keeps every level: it takes 1.7 times as long.
    """

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, decay: Tensor) -> Tensor:
        """Fill in the diagonal, then the square under it of each block, from the smallest blocks to the largest."""
        ctx.save_for_backward(q, k, decay)
        y = q.new_zeros(*q.shape[:-1], q.shape[-2])
        y.diagonal(dim1=-2, dim2=-1).copy_((q * k).sum(-1))
        for right, left in halves(decay):
            h = right.shape[-2]
            _squares(y, h).copy_((_halves(q, h)[1] * right) @ (_halves(k, h)[0] * left).mT)
        return y

    @staticmethod
    @only_once
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Go through the same blocks; the gradient of a decay sums q_t dq_t - k_t dk_t from its token on."""
        q, k, decay = ctx.saved_tensors
        own = grad.diagonal(dim1=-2, dim2=-1)[..., None]
        dq, dk = own * k, own * q
        for right, left in halves(decay):
            h = right.shape[-2]
            square = _squares(grad, h)
            _halves(dq, h)[1].addcmul_(square @ (_halves(k, h)[0] * left), right)
            _halves(dk, h)[0].addcmul_(square.mT @ (_halves(q, h)[1] * right), left)
        return dq, dk, (q * dq - k * dk).flip(-2).cumsum(-2).flip(-2)


def halves(decay: Float[Tensor, "*b n c"]) -> Iterator[tuple[Float[Tensor, "*b m h c"], Float[Tensor, "*b m h c"]]]:
    """Give what is left from the middle of a block to each token of its right half, and from each of its left half.

    Blocks have 2 tokens at first, and twice as many each time. Sums are only added to, never subtracted.
    """
    up_to, behind = decay[..., None, :], torch.zeros_like(decay)[..., None, :]
    while up_to.shape[-3] > 1:
        (left, right), (before, after) = (x.unflatten(-3, (-1, 2)).unbind(-3) for x in (up_to, behind))
        yield right.exp(), before.exp()
        up_to = torch.cat([left, right + left[..., -1:, :]], -2)
        behind = torch.cat([before + right[..., -1:, :], after], -2)


def _halves(x: Tensor, h: int) -> tuple[Tensor, ...]:
    return x.unflatten(-2, (-1, 2, h)).unbind(-3)


def _squares(x: Float[Tensor, "*b n n"], h: int) -> Float[Tensor, "*b m h h"]:
    """View the pairs of right and left half of each block on the diagonal."""
    count = x.shape[-1] // (2 * h)
    blocks = x.unflatten(-1, (count, 2 * h)).unflatten(-3, (count, 2 * h)).diagonal(dim1=-4, dim2=-2).movedim(-1, -3)
    return blocks[..., h:, :h]
