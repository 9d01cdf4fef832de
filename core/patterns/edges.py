"""`Edges`: attention where a graph says who reads whom; `zoo.core.scoring.edge_bias` says what its edges add.

Axes: e edges, h heads, q queries, k keys.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from zoo.core.errors import ConfigError, InputError
from zoo.core.ops.csr import Csr, csr
from zoo.core.patterns.pattern import Cover, Extent, Pattern

Duplicates = Literal["error", "once", "each"]
KEPT = 8
"""How many forms of a graph (for so many heads at once, from such a start) are kept."""


@dataclass(frozen=True, eq=False, repr=False)
class Edges(Pattern):
    """Let a query read the keys that an edge joins it to.

    What is worked out from a graph is kept with it: make one `Edges` for all layers.

    Args:
        index: as PyTorch Geometric's edge_index: keys (sources) in row 0, queries (targets) in row 1.
        duplicates: what two equal edges mean: an `error`, an edge that is there `once`, or two edges of which `each`
            gets its weight, as in PyTorch Geometric.

    Raises:
        InputError: If it is no integer (2, edges), or an edge is negative, or there twice where that is an error.
        ConfigError: If `duplicates` is none of the three.
    """

    index: Int[Tensor, "2 e"]
    duplicates: Duplicates = "error"
    by_value = False

    def __post_init__(self) -> None:
        index = self.index
        integer = not (index.is_floating_point() or index.is_complex() or index.dtype == torch.bool)
        if index.ndim != 2 or len(index) != 2 or not integer:
            raise InputError(f"Edges needs integers (2, edges); got {tuple(index.shape)} of {index.dtype}")
        if self.duplicates not in get_args(Duplicates):
            raise ConfigError(f"duplicates={self.duplicates!r} is not one of {', '.join(get_args(Duplicates))}")
        if index.numel() and int(index.min()) < 0:
            edge = int((index < 0).any(0).nonzero()[0])
            raise InputError(f"edge {edge} is {tuple(index[:, edge].tolist())}: nodes are not negative")
        if self.duplicates == "error" and self.extra:
            edge = int(self._ordered[0][1:][self._again][0])
            raise InputError(
                f"edge {edge} is {tuple(index[:, edge].tolist())} again, one of {self.extra} that are there before: "
                "say duplicates='once' or 'each'"
            )

    @cached_property
    def width(self) -> int:
        """One more than the highest key."""
        return 1 + int(self.index[0].max()) if self.index.shape[1] else 0

    @cached_property
    def extra(self) -> int:
        """How many edges are there before."""
        return int(self._again.sum())

    @property
    def repeated(self) -> bool:
        """Whether some pair counts more than once, which no mask can say."""
        return self.duplicates == "each" and self.extra > 0

    @cached_property
    def _ordered(self) -> tuple[Int[Tensor, " e"], Int[Tensor, " e"]]:
        """The order of all edges by query, then key, and the pairs as ordered numbers."""
        source, target = self.index.long()
        numbers, order = torch.sort(target * self.width + source, stable=True)
        return order, numbers

    @cached_property
    def _again(self) -> Bool[Tensor, " n"]:
        numbers = self._ordered[1]
        return numbers[1:] == numbers[:-1]

    @cached_property
    def order(self) -> Int[Tensor, " kept"]:
        """The edges that count, ordered by query, then key."""
        order = self._ordered[0]
        if self.duplicates == "each" or not self.extra:
            return order
        return order[torch.cat([self._again.new_ones(1), ~self._again])]

    @cached_property
    def _listed(self) -> tuple[Tensor, Tensor, Tensor]:
        """Key, query and number of the edges that count, ordered."""
        source, target = self.index.long()[:, self.order]
        return source, target, target * self.width + source

    @cached_property
    def _kept(self) -> dict[tuple[int, ...], Csr]:
        return {}

    @cached_property
    def _elsewhere(self) -> dict[torch.device, "Edges"]:
        return {}

    @cached_property
    def _counted(self) -> dict[tuple[int, int, int], int]:
        return {}

    def to(self, device: torch.device | str) -> "Edges":
        """Give the same graph on another device; it is kept, with what is worked out from it there."""
        device = torch.empty(0, device=device).device
        if device == self.index.device:
            return self
        if device not in self._elsewhere:
            moved = object.__new__(Edges)  # what is stored was checked
            moved.__dict__.update(index=self.index.to(device), duplicates=self.duplicates)
            self._elsewhere[device] = moved
        return self._elsewhere[device]

    @cached_property
    def _joined(self) -> dict[tuple[Any, ...], "Edges"]:
        return {}

    def with_globals(self, index: tuple[int, ...], queries: int, keys: int, start: int) -> "Edges":
        """Give the graph with what `Globals` adds to it, behind its own edges: so many edges more for each position.

        Args:
            index: positions that read all and are read by all.
            queries: number of queries.
            keys: number of keys.
            start: position of the first query.
        """
        wanted = (index, queries, keys, start)
        if wanted not in self._joined:
            device, width = self.index.device, max(self.width, keys)
            i, j = torch.arange(start, start + queries, device=device), torch.arange(keys, device=device)
            reading = torch.tensor([g for g in index if start <= g < start + queries], device=device, dtype=i.dtype)
            read = torch.tensor([g for g in index if g < keys], device=device, dtype=i.dtype)
            pairs = [(reading[:, None] * width + j).flatten(), (i[:, None] * width + read).flatten()]
            source, target = self.index.long()
            new = torch.cat(pairs).unique()
            new = new[~torch.isin(new, target * width + source)]
            more = torch.stack([new % width, new.div(width, rounding_mode="floor")])
            self._joined[wanted] = Edges(torch.cat([self.index, more.to(self.index.dtype)], dim=1), self.duplicates)
        return self._joined[wanted]

    def misfit(self, extent: Extent) -> str | None:
        """See `Pattern.misfit`; from a later start the queries are a part of all, and only their edges count."""
        start, known = extent.start, extent.whole and self.index.shape[1] and not torch.compiler.is_compiling()
        if start is None or not known:
            return None
        source, target, _ = self._listed
        if start == 0 and int(target[-1]) >= extent.queries:
            return f"an edge leads to query {int(target[-1])}, and there are {extent.queries}, from 0 on"
        if self.width > extent.keys:
            first, last = self._between(start, extent.end)
            highest = int(source[first:last].max()) if last > first else -1
            if highest >= extent.keys:
                return f"an edge comes from key {highest}, and there are {extent.keys}, from 0 on"
        return None

    @cached_property
    def ahead(self) -> int:
        """How far ahead an edge lets its query read; 0 if none does."""
        source, target = self.index
        return max(0, int((source - target).max())) if len(source) else 0

    def cover(self) -> Cover:
        """See `Pattern.cover`; a graph looks back as far as there are nodes."""
        return Cover(None, self.ahead)

    def csr(
        self, queries: int, keys: int, start: int, every: int, batch: int = 1, heads: int = 1, shared: int = 1
    ) -> Csr:
        """Give the sparse matrices for these lengths, of `every` head, stacked as `Csr.stack` says; they are kept."""
        wanted = (queries, keys, start, every, batch, heads, shared)
        if wanted not in self._kept:
            first, last = self._between(start, start + queries)
            source, target, _ = self._listed
            source, target, order = source[first:last], target[first:last] - start, self.order[first:last]
            if self.width > keys:  # of a part, what is not there is not read
                there = source < keys
                source, target, order = source[there], target[there], order[there]
            numbers = max(self.index.shape[1], queries, keys) * max(every, batch * heads)
            if len(self._kept) >= KEPT:
                self._kept.pop(next(iter(self._kept)))
            made = csr(torch.stack([source, target]), order, queries, keys, numbers)
            self._kept[wanted] = made.stack(batch, heads, shared)
        return self._kept[wanted]

    def _between(self, start: int, end: int) -> tuple[int, int]:
        """Where the edges of these queries begin and end in the order."""
        target = self._listed[1]
        first, last = torch.searchsorted(target, torch.tensor([start, end], device=target.device)).tolist()
        return first, last

    def find(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> tuple[Int[Tensor, "*ij"], Int[Tensor, "*ij"]]:
        """Give, for each pair, the place of its first edge in `order`, and how many edges it has."""
        _, _, numbers = self.to(i.device)._listed
        wanted = i * self.width + j
        first = torch.searchsorted(numbers, wanted)
        count = torch.searchsorted(numbers, wanted, right=True) - first
        return first, count * ((i >= 0) & (j >= 0) & (j < self.width))

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        """See `Pattern.allows`."""
        return self.find(i, j)[1] > 0

    def mask(self, queries: Int[Tensor, "r q"], keys: Int[Tensor, "... k"]) -> Bool[Tensor, "rows h q k"]:
        """See `Pattern.mask`; written edge by edge instead of looked up pair by pair."""
        source, target, _ = self.to(queries.device)._listed
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
        wanted = (queries, keys, start)
        if wanted not in self._counted:
            self._counted[wanted] = self.edges(*wanted).shape[1]
        return self._counted[wanted]

    def edges(self, queries: int, keys: int, start: int = 0) -> Int[Tensor, "2 pairs"]:
        """See `Pattern.edges`; where equal edges count each, they are listed each."""
        source, target, _ = self._listed
        inside = (source < keys) & (target >= start) & (target < start + queries)
        return torch.stack([source[inside], target[inside]])

    def __repr__(self) -> str:
        again = f", {self.extra} of them again" if self.extra else ""
        return f"Edges({self.index.shape[1]} edges{again}, duplicates={self.duplicates!r})"
