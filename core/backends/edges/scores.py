"""Scores on edges and their gradients: dot products, or the additive LeakyReLU scores of GAT and GATv2.

For arXiv:2105.14491 eq. 7 the score is Σ v P (q + k), with P the slope of LeakyReLU at q + k. So all gradients follow
from two sums over edges, of the gradient of the score times P: by query, Q, and by key, K. They are v Q for q, v K for
k, and Σ q Q + Σ k K for v. The sums by key go through the edges in the order of keys, so nothing is scattered; vectors
by edge are there a block at a time. With one channel, arXiv:1710.10903 eq. 3, there are no vectors by edge at all.
Axes: n entries, r rows, c columns, m edges by head, d head size, h heads, p edges of a block, w channels of all heads.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag, leaky_relu

from zoo.core.backends.edges.edge_features import edge_vectors
from zoo.core.backends.edges.partition import Part

NUMBERS = {"cpu": 1 << 19, "cuda": 1 << 24}
"""Numbers of the vectors by edge that are there at once: what fits the cache, for each core; or fills a GPU."""


@dataclass(frozen=True, eq=False)
class Compared:
    """Inputs of the scores of a part: queries, keys and edge features.

    Args:
        part: some heads of some rows.
        q: a vector for each row.
        k: a vector for each column.
        to_keys: vectors that edges add to keys; None for none.
    """

    part: Part
    q: Float[Tensor, "r d"]
    k: Float[Tensor, "c d"]
    to_keys: Float[Tensor, "m d"] | None


@dataclass(frozen=True, eq=False)
class Gradients:
    """Hold what a part gives to the gradients of queries, of keys by head of queries, and of the score's vectors."""

    q: Float[Tensor, "r d"]
    k: Float[Tensor, "columns d"]
    v: Float[Tensor, "h d"] | None = None


@runtime_checkable
class Comparison(Protocol):
    """Compare the queries and keys that edges join."""

    def scores(self, x: Compared, onto: Float[Tensor, " n"] | None) -> Float[Tensor, " n"]:
        """Give the scores, added in place to what is given."""

    def gradients(self, x: Compared, slope: Float[Tensor, " n"], of_keys: Float[Tensor, "m d"] | None) -> Gradients:
        """Give gradients from those of the scores, which are overwritten; those of edges are added to `of_keys`."""


@dataclass(frozen=True, eq=False)
class Products:
    """Score by the scaled product of query and key, arXiv:1706.03762 eq. 1."""

    scale: float

    def scores(self, x: Compared, onto: Float[Tensor, " n"] | None) -> Float[Tensor, " n"]:
        """See `Comparison.scores`."""
        if x.to_keys is not None:
            onto = edge_vectors(x.part).products(x.q, x.to_keys, self.scale, onto)
        return x.part.csr.products(x.q, x.k, self.scale, onto)

    def gradients(self, x: Compared, slope: Float[Tensor, " n"], of_keys: Float[Tensor, "m d"] | None) -> Gradients:
        """See `Comparison.gradients`."""
        csr = x.part.csr
        slope.mul_(self.scale)
        of_q = csr.sums(slope, x.k)
        if x.to_keys is not None:
            edge_vectors(x.part).add_sums(of_q, slope, x.to_keys)
        if of_keys is not None:
            edge_vectors(x.part).collect(of_keys, slope, x.q)
        return Gradients(of_q, csr.back_sums(slope, x.q))


@dataclass(frozen=True, eq=False)
class LeakyNumbers:
    """Score by v LeakyReLU(q + k) with one channel: numbers of nodes are added, and edges hold nothing else.

    Args:
        v: of each head; None for ones.
        slope: of LeakyReLU below 0.
    """

    v: Float[Tensor, "h 1"] | None
    slope: float

    def scores(self, x: Compared, onto: Float[Tensor, " n"] | None) -> Float[Tensor, " n"]:
        """See `Comparison.scores`."""
        scores = torch.nn.functional.leaky_relu_(self._inside(x), self.slope)
        if self.v is not None:
            scores.mul_(self._by_entry(x, self.v))
        return scores if onto is None else onto.add_(scores)

    def gradients(self, x: Compared, slope: Float[Tensor, " n"], of_keys: Float[Tensor, "m d"] | None) -> Gradients:
        """See `Comparison.gradients`."""
        csr, inside, of_v = x.part.csr, self._inside(x), None
        if self.v is not None:
            sums = csr.total(slope * leaky_relu(inside, self.slope))
            of_v = sums.view(-1, x.part.heads.stop - x.part.heads.start).sum(0)[:, None]
            slope.mul_(self._by_entry(x, self.v))
        slope = torch.ops.aten.leaky_relu_backward(slope, inside, self.slope, False)
        if of_keys is not None:
            of_keys[:, 0].index_add_(0, x.part.places, slope)
        return Gradients(csr.total(slope)[:, None], csr.back_total(slope)[:, None], of_v)

    def _inside(self, x: Compared) -> Float[Tensor, " n"]:
        csr = x.part.csr
        inside = csr.spread(x.q[:, 0]).add_(x.k[:, 0].index_select(0, csr.columns))
        return inside if x.to_keys is None else inside.add_(x.to_keys[:, 0].index_select(0, x.part.places))

    def _by_entry(self, x: Compared, v: Float[Tensor, "h 1"]) -> Float[Tensor, " n"]:
        own = v[x.part.heads, 0]
        return x.part.csr.spread(own.repeat(len(x.q) // len(own)))


@dataclass(frozen=True, eq=False)
class LeakySums:
    """Score by v · LeakyReLU(q + k), the vectors of all heads by edge, a block of edges at a time.

    Args:
        v: one vector for each head.
        slope: of LeakyReLU below 0.
    """

    v: Float[Tensor, "h d"]
    slope: float

    def scores(self, x: Compared, onto: Float[Tensor, " n"] | None) -> Float[Tensor, " n"]:
        """See `Comparison.scores`."""
        csr, v = x.part.csr, self.v[x.part.heads]
        found = x.q.new_empty(len(csr.rows) // len(v), len(v))
        each = torch.block_diag(*v[:, :, None])
        for piece in _pieces(x, len(v), _table(x, len(v))):
            torch.mm(torch.nn.functional.leaky_relu_(piece.inside(), self.slope), each, out=found[piece.block])
        scores = found.flatten() if len(v) == 1 else found.flatten().index_select(0, csr.of_single)
        return scores if onto is None else onto.add_(scores)

    def gradients(self, x: Compared, slope: Float[Tensor, " n"], of_keys: Float[Tensor, "m d"] | None) -> Gradients:
        """See `Comparison.gradients`."""
        csr, v = x.part.csr, self.v[x.part.heads]
        slopes = (slope if len(v) == 1 else slope.index_select(0, csr.from_single)).view(-1, len(v))
        queries, of_v = x.q.new_zeros(len(csr.single.pointers) - 1, v.numel()), torch.zeros_like(v)
        table = _table(x, len(v))
        for piece in _pieces(x, len(v), table):
            steps = self._steps(piece, slopes[piece.block])
            piece.add_sums(queries, steps)
            if piece.added is not None:  # whether or not its own gradient is wanted
                of_v += (steps * piece.of_edges(piece.added)).sum(0).view_as(v)
            if of_keys is not None:
                own = of_keys.view(-1, len(self.v), v.shape[1])[:, x.part.heads]
                own.index_add_(0, piece.edges, steps.view(-1, *v.shape).mul_(v))
        keys = x.q.new_zeros(len(csr.single.back_pointers) - 1, v.numel())
        slopes = slopes.index_select(0, csr.single.back_order)
        for piece in _pieces(x, len(v), table, back=True):
            piece.add_sums(keys, self._steps(piece, slopes[piece.block]))
        for sums, vectors in ((queries, x.q), (keys, _by_head(x))):
            of_v += (sums * vectors.view_as(sums)).sum(0).view_as(v)
        of_q, of_k = ((sums.view(-1, *v.shape) * v).flatten(0, 1) for sums in (queries, keys))
        return Gradients(of_q, of_k, of_v)

    def _steps(self, piece: "Piece", of_score: Float[Tensor, "p h"]) -> Float[Tensor, "p w"]:
        """Give the slope of LeakyReLU at each number, times the gradient of the score; nothing new is allocated."""
        z = piece.inside()
        each = z.unflatten(1, (of_score.shape[1], -1))
        torch.ops.aten.leaky_relu_backward.grad_input(of_score[:, :, None], each, self.slope, False, grad_input=each)
        return z


@dataclass(frozen=True, eq=False)
class Piece:
    """Hold some edges that follow each other, in the order of queries or of keys, with vectors for all heads.

    Args:
        block: which they are.
        table: vectors of all queries, then of all keys.
        ends: where query and key of each edge stand in the table.
        count: 0, 1, 2, … up to twice as many edges.
        summed: which sums they belong to.
        begins: where these begin among the edges.
        edges: which edges of the caller's list they are.
        added: vectors of these that are added; None for none.
    """

    block: slice
    table: Float[Tensor, "t w"]
    ends: Int[Tensor, "p 2"]
    count: Int[Tensor, " p2"]
    summed: slice
    begins: Int[Tensor, " s"]
    edges: Int[Tensor, " p"]
    added: Float[Tensor, "e w"] | None

    def inside(self) -> Float[Tensor, "p w"]:
        """Give the sum of query, key and edge."""
        begins = self.count[: 2 * len(self.ends) : 2]
        z = embedding_bag(self.ends.flatten(), self.table, begins, mode="sum")
        return z if self.added is None else z.add_(self.of_edges(self.added))

    def of_edges(self, x: Float[Tensor, "e w"]) -> Float[Tensor, "p w"]:
        """Give what belongs to these edges."""
        return x.index_select(0, self.edges)

    def add_sums(self, to: Float[Tensor, "r w"], x: Float[Tensor, "p w"]) -> None:
        """Add up what is given for each edge."""
        to[self.summed] += embedding_bag(self.count[: len(x)], x, self.begins, mode="sum", include_last_offset=True)


def _table(x: Compared, heads: int) -> Float[Tensor, "t w"]:
    """Give the vectors of all queries, then those of all keys."""
    return torch.cat([each.unflatten(0, (-1, heads)).flatten(1) for each in (x.q, _by_head(x))])


def _pieces(x: Compared, heads: int, table: Float[Tensor, "t w"], back: bool = False) -> Iterator[Piece]:
    """Go through the edges of a part block by block, in the order of queries, or back in that of keys."""
    csr, added = x.part.csr.single, None
    if x.to_keys is not None:
        added = x.to_keys.unflatten(0, (-1, x.part.all_heads))[:, x.part.heads].flatten(1)
    ends, pointers, edges = csr.ends, csr.pointers, csr.edges
    if back:
        ends, pointers = csr.back_ends, csr.back_pointers
        edges = edges if added is None else edges.index_select(0, csr.back_order)
    per_step = NUMBERS.get(table.device.type, NUMBERS["cpu"]) * (torch.get_num_threads() if table.is_cpu else 1)
    step = max(1, per_step // table.shape[1])
    firsts = range(0, len(ends), step)
    lasts = [min(first + step, len(ends)) for first in firsts]
    outer = ends[[*firsts, *(last - 1 for last in lasts)]]
    outer = outer[:, 1] - (len(csr.pointers) - 1) if back else outer[:, 0]
    count = torch.arange(2 * min(step, len(ends)), device=ends.device, dtype=ends.dtype)
    for first, last, (lowest, highest) in zip(firsts, lasts, outer.view(2, -1).T.tolist(), strict=True):
        block = slice(first, last)
        begins = pointers[lowest : highest + 2].clamp(first, last) - first
        yield Piece(block, table, ends[block], count, slice(lowest, highest + 1), begins, edges[block], added)


def _by_head(x: Compared) -> Float[Tensor, "columns d"]:
    """Give a key for each head of queries."""
    shared = x.part.shared
    return x.k if shared == 1 else x.k.repeat_interleave(shared, 0)
