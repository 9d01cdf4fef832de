"""Edge features in scores and weighted sums: a vector for each edge, or a vector for each edge type.

With few edge types no vector is made for each edge: entries look up products of rows and edge types in a table, and a
weighted sum of vectors sums the weights by type first. Both are products of small matrices.
Axes: n entries, r rows, m edges or edge types by head, d channels, h heads, u edge types, w nodes of a block.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.backends.edges.partition import BLOCK, Part
from zoo.core.patterns.edge_types import EdgeKinds

TABLE = 1 << 18
"""Numbers of a table of nodes and edge types that are held at once: what fits the cache of a core."""
FEW = 8
"""Products with edge types, for each edge, up to which they take less time than those with vectors of edges."""


@dataclass(frozen=True, eq=False)
class EdgeVectors:
    """Edge features with a vector for each edge."""

    part: Part

    def products(
        self, q: Float[Tensor, "r d"], x: Float[Tensor, "m d"], scale: float, onto: Float[Tensor, " n"] | None
    ) -> Float[Tensor, " n"]:
        """Give the scaled product of row and edge's vector for each entry, added in place to what is given."""
        return self.part.csr.products(q, x, scale, onto, self.part.places)

    def add_sums(self, onto: Float[Tensor, "r d"], numbers: Float[Tensor, " n"], x: Float[Tensor, "m d"]) -> None:
        """Add to each row the vectors of its edges times the numbers of the entries."""
        onto += self.part.csr.sums(numbers, x, self.part.places)

    def collect(self, to: Float[Tensor, "m d"], numbers: Float[Tensor, " n"], of: Float[Tensor, "r d"]) -> None:
        """Add to each edge its row's vector times its number, block by block.

        Where each edge is there once, vectors are made in the order of the edges: 0.06 of the time of adding at places.
        """
        part = self.part
        once = len(numbers) == len(to) and part.batch.stop - part.batch.start == 1
        for first in range(0, len(numbers), BLOCK):
            block = slice(first, first + BLOCK)
            if once:
                order, rows = (x[block] for x in part.csr.by_edge)
                to[block] += of.index_select(0, rows).mul_(numbers.index_select(0, order)[:, None])
                continue
            vectors = of.index_select(0, part.csr.rows[block]).mul_(numbers[block, None])
            to.index_add_(0, part.places[block], vectors)


@dataclass(frozen=True, eq=False)
class EdgeTypeVectors:
    """Edges of a type share a vector; methods are those of `EdgeVectors`, with one vector for each edge type."""

    part: Part
    edge_types: EdgeKinds

    def products(
        self, q: Float[Tensor, "r d"], x: Float[Tensor, "m d"], scale: float, onto: Float[Tensor, " n"] | None
    ) -> Float[Tensor, " n"]:
        """See `EdgeVectors.products`."""
        vectors, own = self._by_head(x).mT * scale, []
        for block in self._blocks():
            table = q.new_empty(block.nodes, len(vectors), self.edge_types.count)
            torch.bmm(block.by_head(q), vectors, out=table.transpose(0, 1))
            own.append(table.flatten().index_select(0, block.places))
            if onto is not None:
                onto[block.entries] += own.pop()
        if onto is not None:
            return onto
        return own[0] if len(own) == 1 else torch.cat(own)

    def add_sums(self, onto: Float[Tensor, "r d"], numbers: Float[Tensor, " n"], x: Float[Tensor, "m d"]) -> None:
        """See `EdgeVectors.add_sums`."""
        vectors = self._by_head(x)
        for block in self._blocks():
            block.by_head(onto).baddbmm_(self._summed(block, numbers), vectors)

    def collect(self, to: Float[Tensor, "m d"], numbers: Float[Tensor, " n"], of: Float[Tensor, "r d"]) -> None:
        """See `EdgeVectors.collect`."""
        own = self._by_head(to)
        for block in self._blocks():
            own += self._summed(block, numbers).mT @ block.by_head(of)

    @property
    def _heads(self) -> int:
        return self.part.heads.stop - self.part.heads.start

    def _by_head(self, x: Float[Tensor, "m d"]) -> Float[Tensor, "h u d"]:
        return x.unflatten(0, (-1, self.part.all_heads))[:, self.part.heads].transpose(0, 1)

    def _summed(self, block: "Block", numbers: Float[Tensor, " n"]) -> Float[Tensor, "h w u"]:
        """Sum the numbers of the entries by node and kind."""
        table = numbers.new_zeros(block.nodes * self._heads * self.edge_types.count)
        table.index_add_(0, block.places, numbers[block.entries])
        return table.view(block.nodes, self._heads, -1).transpose(0, 1)

    def _blocks(self) -> Iterator["Block"]:
        csr, heads = self.part.csr, self._heads
        places, nodes = self.edge_types.places(csr), (len(csr.pointers) - 1) // heads
        step = max(1, TABLE // max(heads * self.edge_types.count, 1))
        if step >= nodes:
            yield Block(slice(0, nodes * heads), slice(0, len(places)), places, heads)
            return
        firsts = [*range(0, nodes, step), nodes]
        begins = csr.pointers[[node * heads for node in firsts]].tolist()
        for index, first in enumerate(firsts[:-1]):
            rows, entries = slice(first * heads, firsts[index + 1] * heads), slice(*begins[index : index + 2])
            yield Block(rows, entries, places[entries] - first * heads * self.edge_types.count, heads)


@dataclass(frozen=True, eq=False)
class Block:
    """Hold some nodes that follow each other: their rows, their entries, and where these stand in a table."""

    rows: slice
    entries: slice
    places: Int[Tensor, " n"]
    heads: int

    @property
    def nodes(self) -> int:
        """How many there are."""
        return (self.rows.stop - self.rows.start) // self.heads

    def by_head(self, x: Float[Tensor, "r d"]) -> Float[Tensor, "h w d"]:
        """Give the vectors of the rows, not copied."""
        return x[self.rows].unflatten(0, (-1, self.heads)).transpose(0, 1)


def edge_vectors(part: Part) -> EdgeVectors | EdgeTypeVectors:
    """Return the operations on edge features of a part, by edge or by edge type."""
    return EdgeVectors(part) if part.edge_types is None else EdgeTypeVectors(part, part.edge_types)
