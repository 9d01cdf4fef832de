"""Banded attention as matrix products, block by block, with a backward pass written by hand: for training on a CPU.

The scores of a block stay in the cache; the backward pass computes them anew, so memory is that of queries and keys.
Against PyTorch's kernel, a bias gets its gradient without the kernel's slow path, weights can be dropped, and the
gradients of overlapping windows are added in place.
Axes: c chunks of all rows and heads of keys, a query heads for one head of keys times places in a chunk, s slots,
b rows and heads of keys, g columns that all may read, w columns, d, e head sizes, p distinct masks or biases.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import FunctionCtx

from zoo.core.backends.banded.layout import Chunks
from zoo.core.ops.autocast import no_autocast
from zoo.core.ops.first_order import only_once

BLOCK = 1 << 17
"""Scores that are computed at once: two such tensors stay in a cache of 2 MiB."""
LOWEST = -1e30
"""Added where nothing may be read; finite, so that a row without keys gives no NaN. Its answer is set to 0."""


@dataclass(frozen=True, eq=False)
class Band:
    """Arguments of the banded products besides queries, keys and values: layout, masks, bias, scale, dropout.

    Args:
        chunks: the layout.
        rows: batch times heads of keys.
        masks: True where a pair is masked.
        mask_of: the mask of each chunk.
        empties: whether some query has nothing to read.
        bias_of: the bias of each chunk.
        scale: of the scores.
        dropout: probability that a weight is dropped.
    """

    chunks: Chunks
    rows: int
    masks: Bool[Tensor, "p l w"]
    mask_of: Int[Tensor, " c"]
    empties: bool
    bias_of: Int[Tensor, " c"] | None
    scale: float
    dropout: float


class Products(torch.autograd.Function):
    """softmax(scale q kᵀ + bias) v over windows, and over the columns that all may read."""

    @staticmethod
    @no_autocast
    def forward(
        ctx: FunctionCtx,
        q: Float[Tensor, "c a d"],
        k: Float[Tensor, "s d"],
        v: Float[Tensor, "s e"],
        k_all: Float[Tensor, "b g d"],
        v_all: Float[Tensor, "b g e"],
        bias: Float[Tensor, "p a w"] | None,
        band: Band,
    ) -> Float[Tensor, "c a e"]:
        """Compute the answers, those of the empty chunks 0."""
        work = _Work(q, k, v, k_all, v_all, bias, band)
        y = q.new_empty(*q.shape[:2], v.shape[1])
        y[work.count :] = 0
        dropout_masks = []
        for first, last in work.blocks():
            weights = work.weights(first, last)
            if band.dropout:
                dropout_masks.append(torch.rand_like(weights) >= band.dropout)
                weights.mul_(dropout_masks[-1]).mul_(1 / (1 - band.dropout))
            near, far = weights.split([work.width, k_all.shape[1]], 2)
            part = y[first:last]
            torch.bmm(near, work.v[first:last], out=part)
            if k_all.shape[1]:
                part += torch.bmm(far, v_all[work.row_of[first:last]])
            work.empty(part, first, last)
        ctx.save_for_backward(q, k, v, k_all, v_all, bias)  # type: ignore[arg-type]
        ctx.band, ctx.dropout_masks = band, dropout_masks  # type: ignore[attr-defined]
        return y

    @staticmethod
    @only_once
    @no_autocast
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Compute the weights of each block again, and the gradients from them."""
        q, k, v, k_all, v_all, bias = ctx.saved_tensors  # type: ignore[attr-defined]
        band, dropout_masks = ctx.band, ctx.dropout_masks  # type: ignore[attr-defined]
        work = _Work(q, k, v, k_all, v_all, bias, band)
        to_bias = bias is not None and ctx.needs_input_grad[5]  # type: ignore[attr-defined]
        gq, gk, gv = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
        gq[work.count :] = 0
        gk_all, gv_all = torch.zeros_like(k_all), torch.zeros_like(v_all)
        g_bias = torch.zeros_like(bias) if to_bias else None
        for n, (first, last) in enumerate(work.blocks()):
            weights = work.weights(first, last)
            g = grad[first:last].contiguous()
            if band.empties:
                g = work.empty(g.clone(), first, last)
            keep = dropout_masks[n] * (1 / (1 - band.dropout)) if band.dropout else None
            near, far = (weights if keep is None else weights * keep).split([work.width, k_all.shape[1]], 2)
            band.chunks.spread(near.mT @ g, gv, first)
            g_weights = work.products(g, work.v, v_all, first, last)
            if keep is not None:
                g_weights *= keep
            g_scores = torch._softmax_backward_data(g_weights, weights, -1, weights.dtype)
            if g_bias is not None:
                g_bias.index_add_(0, band.bias_of[first:last], g_scores)
            g_near, g_far = g_scores.split([work.width, k_all.shape[1]], 2)
            part = gq[first:last]
            torch.baddbmm(work.none, g_near, work.k[first:last], beta=0, alpha=band.scale, out=part)
            moved = torch.baddbmm(work.none, g_near.mT, q[first:last], beta=0, alpha=band.scale)
            band.chunks.spread(moved, gk, first)
            if k_all.shape[1]:
                row_of = work.row_of[first:last]
                gv_all.index_add_(0, row_of, far.mT @ g)
                part.baddbmm_(g_far, k_all[row_of], alpha=band.scale)
                gk_all.index_add_(0, row_of, g_far.mT @ q[first:last], alpha=band.scale)
        return gq, gk, gv, gk_all, gv_all, g_bias, None


class _Work:
    """One pass over the blocks: the views that both directions share, and the steps from queries to weights."""

    def __init__(
        self, q: Tensor, k: Tensor, v: Tensor, k_all: Tensor, v_all: Tensor, bias: Tensor | None, band: Band
    ) -> None:
        self.q, self.k_all, self.bias, self.band = q, k_all, bias, band
        self.k, self.v = band.chunks.windows(k), band.chunks.windows(v)
        self.width = band.chunks.width
        self.count = band.chunks.filled(band.rows)
        self.row_of = torch.arange(self.count, device=q.device) // (band.chunks.count + band.chunks.gap)
        self.none = q.new_empty(())

    def blocks(self) -> list[tuple[int, int]]:
        """Give the first chunk of each block and the one behind its last."""
        step = max(1, BLOCK // (self.q.shape[1] * (self.width + self.k_all.shape[1])))
        return [(first, min(first + step, self.count)) for first in range(0, self.count, step)]

    def products(self, q: Tensor, windows: Tensor, columns: Tensor, first: int, last: int) -> Tensor:
        """Multiply rows with what they may read."""
        far = columns.shape[1]
        if not far:
            return torch.bmm(q, windows[first:last].mT)
        out = q.new_empty(*q.shape[:2], self.width + far)
        torch.bmm(q, windows[first:last].mT, out=out[..., : self.width])
        torch.bmm(q, columns[self.row_of[first:last]].mT, out=out[..., self.width :])
        return out

    def weights(self, first: int, last: int) -> Tensor:
        """Give the weights of a block, in a tensor of its own."""
        band = self.band
        scores = self.products(self.q[first:last], self.k, self.k_all, first, last).mul_(band.scale)
        if self.bias is not None and band.bias_of is not None:
            scores += self.bias[band.bias_of[first:last]]
        masks = band.masks if len(band.masks) == 1 else band.masks[band.mask_of[first:last]]
        scores.unflatten(1, (-1, band.chunks.size)).masked_fill_(masks[:, None], LOWEST)
        return torch.softmax(scores, -1, out=scores)

    def empty(self, y: Tensor, first: int, last: int) -> Tensor:
        """Set the rows with nothing to read to 0, in place."""
        if self.band.empties:
            nothing = self.band.masks.all(2)[self.band.mask_of[first:last]]
            y.unflatten(1, (-1, self.band.chunks.size)).masked_fill_(nothing[:, None, :, None], 0)
        return y
