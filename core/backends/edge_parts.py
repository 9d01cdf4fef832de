"""Attention on a graph cut into parts: the heads, over a batch, that are computed at once, and what they may not read.

Axes: b batch, q queries, k keys, n entries.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.backends.problem import Call
from zoo.core.csr import Csr
from zoo.core.edges import Edges

BLOCK = 1 << 18
"""Entries up to which heads are computed at once: more would leave the cache."""


def at_once(edges: int, heads: int, shared: int) -> int:
    """Say how many heads are computed at once: those of one head of keys together.

    Args:
        edges: of the graph.
        heads: of queries, over the batch.
        shared: heads of queries for each head of keys.
    """
    return shared * max(1, min(heads // shared, BLOCK // max(edges * shared, 1)))


@dataclass(frozen=True, eq=False)
class Part:
    """Some heads of some rows of the batch, which are computed at once.

    Args:
        csr: the graph, once for each.
        queries: which heads of queries, over the batch.
        keys: which heads of keys.
        closed: entries that may not be read; None for none.
        places: of the entries among edges by head; None if nothing belongs to edges.
    """

    csr: Csr
    queries: slice
    keys: slice
    closed: Bool[Tensor, " n"] | None
    places: Int[Tensor, " n"] | None

    @property
    def of_edges(self) -> Int[Tensor, " n"]:
        """The places, where there are some."""
        assert self.places is not None
        return self.places


@dataclass(frozen=True, eq=False)
class Work:
    """What there is besides the numbers: the graph, what may not be read, and a dropout that can be repeated."""

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

    def parts(self, units: int, placed: bool) -> Iterator[Part]:
        """Go through all heads of queries over the batch.

        Args:
            units: how many there are.
            placed: whether something belongs to edges.
        """
        shared = self.heads // self.groups
        shape = (self.queries, self.keys, self.start, self.heads)
        step = at_once(len(self.graph.csr(*shape).rows), units, shared)
        for first in range(0, units, step):
            last = min(first + step, units)
            csr = self.graph.csr(*shape, last - first, shared)
            unit = torch.arange(first, last, device=csr.rows.device, dtype=csr.rows.dtype)[:, None]
            places = (csr.edges.view(len(unit), -1) * self.heads + unit % self.heads).flatten() if placed else None
            keys = slice(first // shared, last // shared)
            yield Part(csr, slice(first, last), keys, self._closed(csr, first, last), places)

    def entries(self, units: int) -> int:
        """Count the edges of so many heads over the batch."""
        return units * len(self.graph.csr(self.queries, self.keys, self.start, self.heads).rows)

    def _closed(self, csr: Csr, first: int, last: int) -> Bool[Tensor, " n"] | None:
        if self.valid is None:
            return None
        of_queries = torch.arange(first, last, device=self.valid.device).div(self.heads, rounding_mode="floor")
        of_keys = of_queries[:: self.heads // self.groups]  # rows of the batch
        closed = ~self.valid[of_keys].flatten().index_select(0, csr.columns)
        if self.segments is not None:
            ids = [x[rows].flatten() for x, rows in zip(self.segments, (of_queries, of_keys), strict=True)]
            closed |= ids[0].index_select(0, csr.rows) != ids[1].index_select(0, csr.columns)
        return closed

    def kept(self, part: Part, weights: Float[Tensor, " n"]) -> Float[Tensor, " n"] | None:
        """Draw by what dropout multiplies the weights, the same in both passes; None without dropout."""
        if not self.dropout:
            return None
        generator = torch.Generator(weights.device).manual_seed(self.seed + part.queries.start)
        return torch.empty_like(weights).bernoulli_(1 - self.dropout, generator=generator).div_(1 - self.dropout)


def work_of(call: Call) -> Work:
    """Give what there is besides the numbers of a call."""
    assert isinstance(call.pattern, Edges)  # see `refuses`
    assert isinstance(call.start, int)
    graph = call.pattern.to(call.q.device)
    _, heads, queries, _ = call.q.shape
    _, groups, keys, _ = call.k.shape
    seed = int(torch.randint(1 << 48, ())) if call.dropout else 0
    shape = (call.start, queries, keys, heads, groups)
    return Work(graph, *shape, call.valid, call.segments, call.scale, call.dropout, seed)
