"""`Edges`: attention along the edges of a graph; `zoo.core.scoring.edge_bias` has the features of its edges.

Axes: e edges, h heads, q queries, k keys.
"""

from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from zoo.core.ops.csr import Csr
from zoo.core.patterns.edge_index import Duplicates, EdgeIndex
from zoo.core.patterns.pattern import BoundingBand, Pattern, ShapeInfo


@dataclass(frozen=True, eq=False, repr=False)
class Edges(Pattern):
    """Let a query read the keys that an edge joins it to.

    What is worked out from a graph is cached with it: make one `Edges` for all layers.

    Args:
        index: as PyTorch Geometric's edge_index: keys (sources) in row 0, queries (targets) in row 1.
        duplicates: what two equal edges mean: an `error`, an edge that is there `once`, or two edges of which `each`
            gets its weight, as in PyTorch Geometric.
        listing: these edges as another pattern holds them, checked, with what is worked out from them; made if None.

    Raises:
        InputError: If it is no integer (2, edges), or an edge is negative, or there twice where that is an error.
        ConfigError: If `duplicates` is none of the three.
    """

    index: Int[Tensor, "2 e"]
    duplicates: Duplicates = "error"
    listing: EdgeIndex = field(default=None)  # type: ignore[assignment]  # made in __post_init__
    by_value = False

    def __post_init__(self) -> None:
        if self.listing is None:
            object.__setattr__(self, "listing", EdgeIndex(self.index, self.duplicates))
            self.listing.check()

    @property
    def width(self) -> int:
        """One more than the highest key."""
        return self.listing.width

    @property
    def extra(self) -> int:
        """How many edges equal an earlier one."""
        return self.listing.extra

    @property
    def repeated(self) -> bool:
        """Whether some pair counts more than once, which no mask can say."""
        return self.duplicates == "each" and self.extra > 0

    @property
    def order(self) -> Int[Tensor, " kept"]:
        """The edges that count, ordered by query, then key."""
        return self.listing.order

    def to(self, device: torch.device | str) -> "Edges":
        """Give the same graph on another device; what is worked out from it there is cached."""
        device = torch.empty(0, device=device).device
        if device == self.index.device:
            return self

        def make() -> Edges:
            listing = EdgeIndex(self.index.to(device), self.duplicates)
            return Edges(listing.index, listing.duplicates, listing)

        moved: Edges = self.listing.memoized(device, make)
        return moved

    def with_globals(self, index: tuple[int, ...], queries: int, keys: int, start: int) -> "Edges":
        """Give the graph with what `Globals` adds to it, behind its own edges; see `EdgeIndex.with_globals`."""
        wanted = (index, queries, keys, start)

        def make() -> Edges:
            return Edges(torch.cat([self.index, self.listing.with_globals(*wanted)], dim=1), self.duplicates)

        joined: Edges = self.listing.memoized(wanted, make)
        return joined

    def misfit(self, extent: ShapeInfo) -> str | None:
        """See `Pattern.misfit`; from a later start the queries are a part of all, and only their edges count."""
        start, known = extent.start, extent.whole and self.index.shape[1] and not torch.compiler.is_compiling()
        if start is None or not known:
            return None
        source, target, _ = self.listing.listed
        if start == 0 and int(target[-1]) >= extent.queries:
            return f"an edge leads to query {int(target[-1])}, and there are {extent.queries}, from 0 on"
        if self.width > extent.keys:
            first, last = self.listing.between(start, extent.end)
            highest = int(source[first:last].max()) if last > first else -1
            if highest >= extent.keys:
                return f"an edge comes from key {highest}, and there are {extent.keys}, from 0 on"
        return None

    def cover(self) -> BoundingBand:
        """See `Pattern.cover`; a graph looks back as far as there are nodes."""
        return BoundingBand(None, self.listing.ahead)

    def csr(self, *shape: int) -> Csr:
        """See `EdgeIndex.csr`."""
        return self.listing.csr(*shape)

    def find(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> tuple[Int[Tensor, "*ij"], Int[Tensor, "*ij"]]:
        """Give, for each pair, the place of its first edge in `order`, and how many edges it has."""
        _, _, numbers = self.to(i.device).listing.listed
        wanted = i * self.width + j
        first = torch.searchsorted(numbers, wanted)
        count = torch.searchsorted(numbers, wanted, right=True) - first
        return first, count * ((i >= 0) & (j >= 0) & (j < self.width))

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        return self.find(i, j)[1] > 0

    def mask(self, queries: Int[Tensor, "r q"], keys: Int[Tensor, "... k"]) -> Bool[Tensor, "rows h q k"]:
        """See `Pattern.mask`; written edge by edge instead of looked up pair by pair."""
        source, target, _ = self.to(queries.device).listing.listed
        flat = queries.flatten()
        first = torch.searchsorted(target, flat)
        degree = torch.searchsorted(target, flat, right=True) - first
        row = torch.arange(len(flat), device=flat.device).repeat_interleave(degree)
        edge = torch.arange(len(row), device=flat.device) + (first - degree.cumsum(0) + degree)[row]
        table = torch.zeros(len(flat), self.width + 1, dtype=torch.bool, device=flat.device)  # a last column is empty
        table[row, source[edge]] = True
        column = torch.where((keys < 0) | (keys > self.width), self.width, keys)
        table = table.view(len(queries), 1, queries.shape[1], self.width + 1)
        return table.take_along_dim(column.view(keys.shape[0] if keys.ndim > 1 else 1, 1, 1, keys.shape[-1]), 3)

    def pairs(self, queries: int, keys: int, start: int = 0) -> int:
        """See `Pattern.pairs`; where equal edges count each, they are counted each."""
        wanted = ("pairs", queries, keys, start)
        counted: int = self.listing.memoized(wanted, lambda: self.edges(queries, keys, start).shape[1])
        return counted

    def edges(self, queries: int, keys: int, start: int = 0) -> Int[Tensor, "2 pairs"]:
        """See `Pattern.edges`; where equal edges count each, they are listed each."""
        source, target, _ = self.listing.listed
        inside = (source < keys) & (target >= start) & (target < start + queries)
        return torch.stack([source[inside], target[inside]])

    def __repr__(self) -> str:
        again = f", {self.extra} of them again" if self.extra else ""
        return f"Edges({self.index.shape[1]} edges{again}, duplicates={self.duplicates!r})"
