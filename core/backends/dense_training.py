"""Dense attention as matrix products, a block of queries at a time: for training on short sequences on a CPU.

The scores of some queries stay in the cache from the product to the softmax. A bias that is a product too, that of the
query with a vector of the offset (arXiv:1901.02860 sec. 3.3), is computed for the offsets of these queries only, and
laid beside the keys by a view: row n of a band begins one offset earlier than the row above. Neither the band nor its
gradient is ever whole, and rows of a batch read their own keys only, however many the longest has.
Axes: see `zoo.core.backends.problem`; o offsets, c queries at a time, w offsets that these meet.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import FunctionCtx

from zoo.core.ops.autocast import no_autocast
from zoo.core.ops.first_order import only_once

BLOCK = 1 << 17
"""Scores of all heads that are computed at once: they and their band stay in a cache of 2 MiB."""
FEWEST = 64
"""Queries at a time, so that products are worth their start."""


@dataclass(frozen=True)
class Block:
    """A block of queries of a row, and the range of keys that they attend to.

    Args:
        row: of the batch.
        first: query.
        last: query, behind the last.
        begin: first key.
        end: behind the last key.
        at: where its weights begin, among all that are kept.
    """

    row: int
    first: int
    last: int
    begin: int
    end: int
    at: int

    @property
    def keys(self) -> int:
        """Number of keys."""
        return self.end - self.begin

    @property
    def size(self) -> int:
        """Number of queries."""
        return self.last - self.first

    @property
    def offsets(self) -> int:
        """How many offsets lie between them."""
        return self.size + self.keys - 1


def blocks(queries: int, heads: int, spans: tuple[tuple[int, int], ...]) -> Iterator[Block]:
    """Part the queries of each row.

    Args:
        queries: of each row.
        heads: that are computed at once.
        spans: first key of each row, and the one behind its last; rows without keys are left out.
    """
    at = 0
    for row, (begin, end) in enumerate(spans):
        if begin == end:
            continue
        parts = -(-queries // max(FEWEST, BLOCK // (heads * (end - begin))))
        step = -(-queries // parts)
        for first in range(0, queries, step):
            last = min(first + step, queries)
            yield Block(row, first, last, begin, end, at)
            at += heads * (last - first) * (end - begin)


class Blockwise(torch.autograd.Function):
    """softmax(scale (q kᵀ + skewed p rᵀ)) v for one span of keys in each row; the weights are kept."""

    @staticmethod
    @no_autocast
    def forward(
        ctx: FunctionCtx,
        q: Float[Tensor, "b h q d"],
        k: Float[Tensor, "b h k d"],
        v: Float[Tensor, "b h k e"],
        p: Float[Tensor, "b h q d"] | None,
        r: Float[Tensor, "h o d"] | None,
        spans: tuple[tuple[int, int], ...],
        scale: float,
    ) -> Float[Tensor, "b h q e"]:
        """Compute the answers.

        Args:
            ctx: keeps what the backward pass needs.
            q: queries that meet the keys.
            k: keys.
            v: values.
            p: queries that meet the offsets; None without them.
            r: vectors of the offsets, from that of the last query and the first key on.
            spans: see `blocks`.
            scale: of the scores.
        """
        rows, heads, queries = q.shape[:3]
        parts = list(blocks(queries, heads, spans))
        stored = q.new_empty(sum(heads * part.size * part.keys for part in parts))
        y = v.new_zeros(rows, queries, heads, v.shape[3]).transpose(1, 2)
        none = q.new_empty(())
        for part in parts:
            row, at = part.row, slice(part.first, part.last)
            weights = _weights(stored, part, heads)
            of_keys = k[row, :, part.begin : part.end].mT
            if p is None or r is None:
                torch.baddbmm(none, q[row, :, at], of_keys, beta=0, alpha=scale, out=weights)
            else:
                band = torch.baddbmm(none, p[row, :, at], _met(r, part, queries).mT, beta=0, alpha=scale)
                torch.baddbmm(_laid(band, part), q[row, :, at], of_keys, alpha=scale, out=weights)
            torch.softmax(weights, -1, out=weights)
            y[row, :, at] = torch.bmm(weights, v[row, :, part.begin : part.end])
        ctx.save_for_backward(q, k, v, p, r, stored)  # type: ignore[arg-type]
        ctx.parts, ctx.scale = parts, scale  # type: ignore[attr-defined]
        return y

    @staticmethod
    @only_once
    @no_autocast
    def backward(ctx: FunctionCtx, grad: Float[Tensor, "b h q e"]) -> tuple[Tensor | None, ...]:
        """Compute the gradients from the weights, each band's from a band."""
        q, k, v, p, r, stored = ctx.saved_tensors  # type: ignore[attr-defined]
        parts, scale = ctx.parts, ctx.scale  # type: ignore[attr-defined]
        heads, queries = q.shape[1:3]
        gq, gk, gv = (_zeros_by_row(x) for x in (q, k, v))
        gp, gr = (None, None) if p is None else (_zeros_by_row(p), torch.zeros_like(r))
        none = band = q.new_empty(())
        for part in parts:
            row, at, span = part.row, slice(part.first, part.last), slice(part.begin, part.end)
            weights, g = _weights(stored, part, heads), grad[row, :, at]
            gv[row, :, span].baddbmm_(weights.mT, g)
            scores = torch._softmax_backward_data(torch.bmm(g, v[row, :, span].mT), weights, -1, weights.dtype)
            gq[row, :, at] = torch.baddbmm(none, scores, k[row, :, span], beta=0, alpha=scale)
            gk[row, :, span].baddbmm_(scores.mT, q[row, :, at], alpha=scale)
            if gp is not None and gr is not None:
                shape = heads, part.size, part.offsets
                band = band if band.shape == shape else scores.new_zeros(shape)  # what is outside the keys stays 0
                _laid(band, part).copy_(scores)
                gp[row, :, at] = torch.baddbmm(none, band, _met(r, part, queries), beta=0, alpha=scale)
                _met(gr, part, queries).baddbmm_(band.mT, p[row, :, at], alpha=scale)
        return gq, gk, gv, gp, gr, None, None


def _weights(stored: Tensor, part: Block, heads: int) -> Float[Tensor, "h c k"]:
    count = heads * part.size * part.keys
    return stored[part.at : part.at + count].view(heads, part.size, part.keys)


def _met(r: Float[Tensor, "h o d"], part: Block, queries: int) -> Float[Tensor, "h w d"]:
    """Give the vectors of the offsets from the last of these queries to the first of its keys, and so on."""
    begin = queries - part.last + part.begin
    return r[:, begin : begin + part.offsets]


def _laid(band: Float[Tensor, "h c w"], part: Block) -> Float[Tensor, "h c k"]:
    """View a band of offsets by its keys."""
    heads, size, width = band.shape
    return band.as_strided((heads, size, part.keys), (size * width, max(1, width - 1), 1), size - 1)


def _zeros_by_row(x: Float[Tensor, "b h n d"]) -> Float[Tensor, "b h n d"]:
    """Give zeros in the order in which vectors with their heads come, so that nothing need be moved afterwards."""
    b, h, n, d = x.shape
    return x.new_zeros(b, n, h, d).transpose(1, 2)
