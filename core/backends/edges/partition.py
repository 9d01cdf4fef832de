"""Sparse attention on a graph cut into parts: the heads and rows computed at once, with their masked edges.

Axes: b batch, q queries, k keys, n entries.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.backends.problem import Call
from zoo.core.errors import InputError
from zoo.core.ops.csr import Csr
from zoo.core.patterns.edge_types import EdgeKinds
from zoo.core.patterns.edges import Edges
from zoo.core.scoring.edge_bias import EdgeBias
from zoo.core.scoring.scores import LeakySum

BLOCK = 1 << 19
"""Entries up to which heads are computed at once: more would leave the cache."""


def rows_and_heads(edges: int, batch: int, heads: int, shared: int, limit: int | None = None) -> tuple[int, int]:
    """Say how many rows and heads are computed at once: rows with all heads, or heads with those of the same keys.

    Args:
        edges: of the graph.
        batch: rows.
        heads: of queries.
        shared: heads of queries for each head of keys.
        limit: entries that may be computed at once, if others than usual.
    """
    fit = (BLOCK if limit is None else limit) // max(edges, 1)
    return (max(1, min(batch, fit // heads)), heads) if fit >= heads else (1, shared * max(1, fit // shared))


@dataclass(frozen=True, eq=False)
class Part:
    """Some heads of some rows of the batch, which are computed at once.

    Args:
        csr: the graph, once for each.
        batch: which rows.
        heads: which heads of queries.
        groups: which heads of keys.
        closed: entries that may not be read; None for none.
        all_heads: how many heads of queries there are in all.
        edge_types: the type of each edge; None if each edge has features of its own.
    """

    csr: Csr
    batch: slice
    heads: slice
    groups: slice
    closed: Bool[Tensor, " n"] | None
    all_heads: int
    edge_types: EdgeKinds | None

    @property
    def shared(self) -> int:
        """Heads of queries for each head of keys."""
        return (self.heads.stop - self.heads.start) // (self.groups.stop - self.groups.start)

    def of_queries(self, x: Float[Tensor, "b q h *d"]) -> Float[Tensor, " r *d"]:
        """Give the vectors of its queries; without copying if they are those of all heads."""
        return x[self.batch, :, self.heads].flatten(0, 2)

    def of_keys(self, x: Float[Tensor, "b k g d"]) -> Float[Tensor, "c d"]:
        """Give the vectors of its keys."""
        return x[self.batch, :, self.groups].flatten(0, 2)

    @cached_property
    def places(self) -> Int[Tensor, " n"]:
        """The place of each entry among edges, or edge types, by head."""
        csr, edges = self.csr, self.csr.edges
        if self.edge_types is not None:
            edges = self.edge_types.of.to(edges.device, edges.dtype).index_select(0, edges)
        return edges * self.all_heads + csr.rows % (self.heads.stop - self.heads.start) + self.heads.start


@dataclass(frozen=True, eq=False)
class Work:
    """Structure of an edge-list computation: graph, masks, and a dropout that the backward pass draws again."""

    graph: Edges
    start: int
    queries: int
    keys: int
    heads: int
    groups: int
    valid: Bool[Tensor, "b k"] | None
    segments: tuple[Int[Tensor, "b q"], Int[Tensor, "b k"]] | None
    scale: float
    dropout: float
    seed: int
    slope: float | None = None
    """Of LeakyReLU below 0, for scores that are no products."""
    limit: int | None = None
    """Entries that may be computed at once, if others than usual."""
    edge_types: EdgeKinds | None = None
    """The type of each edge."""

    def parts(self, batch: int) -> Iterator[Part]:
        """Go through all heads of so many rows."""
        shared = self.heads // self.groups
        shape = (self.queries, self.keys, self.start, self.heads)
        rows, heads = rows_and_heads(len(self.graph.csr(*shape).rows), batch, self.heads, shared, self.limit)
        for row, head in product(range(0, batch, rows), range(0, self.heads, heads)):
            mine, last = slice(row, min(row + rows, batch)), min(head + heads, self.heads)
            csr = self.graph.csr(*shape, mine.stop - row, last - head, shared)
            groups, closed = slice(head // shared, last // shared), self._closed(csr, mine, last - head)
            yield Part(csr, mine, slice(head, last), groups, closed, self.heads, self.edge_types)

    def entries(self, batch: int) -> int:
        """Count the edges of all heads of so many rows."""
        return batch * self.heads * len(self.graph.csr(self.queries, self.keys, self.start, self.heads).rows)

    def _closed(self, csr: Csr, batch: slice, heads: int) -> Bool[Tensor, " n"] | None:
        if self.valid is None:
            return None
        rows, columns = csr.rows // heads, csr.columns // (heads * self.groups // self.heads)
        closed = ~self.valid[batch].flatten().index_select(0, columns)
        if self.segments is not None:
            of_queries, of_keys = (x[batch].flatten() for x in self.segments)
            closed |= of_queries.index_select(0, rows) != of_keys.index_select(0, columns)
        return closed

    def dropout_mask(self, part: Part, weights: Float[Tensor, " n"]) -> Float[Tensor, " n"] | None:
        """Draw the dropout mask of the weights, the same in both passes; None without dropout."""
        if not self.dropout:
            return None
        generator = torch.Generator(weights.device).manual_seed(
            self.seed + part.batch.start * self.heads + part.heads.start
        )
        return torch.empty_like(weights).bernoulli_(1 - self.dropout, generator=generator).div_(1 - self.dropout)


def work_of(call: Call, limit: int | None = None, edge_types: EdgeKinds | None = None) -> Work:
    """Make the `Work` of a call from its structure; see `Work` for the arguments."""
    assert isinstance(call.pattern, Edges)  # see `refuses`
    assert isinstance(call.start, int)
    graph = call.pattern.to(call.q.device)
    _, heads, queries, _ = call.q.shape
    _, groups, keys, _ = call.k.shape
    slope = call.score.slope if isinstance(call.score, LeakySum) else None
    seed = int(torch.randint(1 << 48, ())) if call.dropout else 0
    shape = (call.start, queries, keys, heads, groups)
    return Work(graph, *shape, call.valid, call.segments, call.scale, call.dropout, seed, slope, limit, edge_types)


def check_heads(bias: EdgeBias, heads: int) -> None:
    """Check that an edge bias has the number of heads.

    Raises:
        InputError: If there are neither so many, nor one for all.
    """
    for x in bias.tensors:
        if x.shape[1] not in (1, heads):
            raise InputError(f"an EdgeBias of {x.shape[1]} heads for {heads} heads")
