"""`EdgeIndex`: a list of edges with cached derivatives: its sorted order, sparse matrices and copies on devices.

Axes: e edges, n edges that count.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from zoo.core.errors import ConfigError, InputError
from zoo.core.ops.csr import Csr, csr
from zoo.core.ops.tensor_check import values_known

Duplicates = Literal["error", "once", "each"]
MATRICES = 8
"""How many sparse matrices of a graph (for so many heads at once, from such a start) are cached."""


@dataclass(frozen=True, eq=False)
class EdgeIndex:
    """Hold edges and cache what depends on them alone; every pattern of the same edges holds the same object.

    Args:
        index: keys (sources) in row 0, queries (targets) in row 1.
        duplicates: what two equal edges mean, see `Edges`.
    """

    index: Int[Tensor, "2 e"]
    duplicates: Duplicates
    cached: dict[Hashable, Any] = field(default_factory=dict)
    """What was made by `memoized`."""
    matrices: dict[tuple[int, ...], Csr] = field(default_factory=dict)

    def check(self) -> None:
        """Check the edges.

        Raises:
            InputError: If it is no integer (2, edges), or an edge is negative, or there twice where that is an error.
            ConfigError: If `duplicates` is none of the three.
        """
        index = self.index
        integer = not (index.is_floating_point() or index.is_complex() or index.dtype == torch.bool)
        if index.ndim != 2 or len(index) != 2 or not integer:
            raise InputError(f"Edges needs integers (2, edges); got {tuple(index.shape)} of {index.dtype}")
        if self.duplicates not in get_args(Duplicates):
            raise ConfigError(f"duplicates={self.duplicates!r} is not one of {', '.join(get_args(Duplicates))}")
        if not values_known(index):
            return
        if index.numel() and int(index.min()) < 0:
            edge = int((index < 0).any(0).nonzero()[0])
            raise InputError(f"edge {edge} is {tuple(index[:, edge].tolist())}: nodes are not negative")
        if self.duplicates == "error" and self.extra:
            edge = int(self._ordered[0][1:][self._again][0])
            raise InputError(
                f"edge {edge} is {tuple(index[:, edge].tolist())} again, one of {self.extra} that are there before: "
                "say duplicates='once' or 'each'"
            )

    def memoized(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what was made under this key, or make it now."""
        if key not in self.cached:
            self.cached[key] = make()
        return self.cached[key]

    @cached_property
    def width(self) -> int:
        """One more than the highest key."""
        return 1 + int(self.index[0].max()) if self.index.shape[1] else 0

    @cached_property
    def extra(self) -> int:
        """How many edges equal an earlier one."""
        return int(self._again.sum())

    @cached_property
    def ahead(self) -> int:
        """How far ahead an edge lets its query read; 0 if none does."""
        source, target = self.index
        return max(0, int((source - target).max())) if len(source) else 0

    @cached_property
    def _ordered(self) -> tuple[Int[Tensor, " e"], Int[Tensor, " e"]]:
        """The order of all edges by query, then key, and the pairs as ordered numbers."""
        source, target = self.index.long()
        numbers, order = torch.sort(target * self.width + source, stable=True)
        return order, numbers

    @cached_property
    def _again(self) -> Bool[Tensor, " m"]:
        numbers = self._ordered[1]
        return numbers[1:] == numbers[:-1]

    @cached_property
    def order(self) -> Int[Tensor, " n"]:
        """The edges that count, ordered by query, then key."""
        order = self._ordered[0]
        if self.duplicates == "each" or not self.extra:
            return order
        return order[torch.cat([self._again.new_ones(1), ~self._again])]

    @cached_property
    def listed(self) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"], Int[Tensor, " n"]]:
        """Key, query and number of the edges that count, ordered."""
        source, target = self.index.long()[:, self.order]
        return source, target, target * self.width + source

    def between(self, start: int, end: int) -> tuple[int, int]:
        """Where the edges of these queries begin and end in the order."""
        target = self.listed[1]
        first, last = torch.searchsorted(target, torch.tensor([start, end], device=target.device)).tolist()
        return first, last

    def within(self, queries: int, keys: int, start: int) -> tuple[Int[Tensor, "2 m"], Int[Tensor, " m"]]:
        """Return the edges of these queries and keys, queries counted from the start, and which edges they are."""
        first, last = self.between(start, start + queries)
        source, target, _ = self.listed
        index, order = torch.stack([source[first:last], target[first:last] - start]), self.order[first:last]
        if self.width <= keys:
            return index, order
        inside = index[0] < keys  # of a part, keys that are not in it are not read
        return index[:, inside], order[inside]

    def csr(
        self, queries: int, keys: int, start: int, every: int, batch: int = 1, heads: int = 1, shared: int = 1
    ) -> Csr:
        """Return the sparse matrices for these lengths, of `every` head, stacked as `Csr.stack` says; cached.

        In an exported program, whose edges are not known, they are not ordered: all that `scatter` reads.
        """
        if torch.compiler.is_exporting():
            return self._unordered()
        wanted = (queries, keys, start, every, batch, heads, shared)
        if wanted not in self.matrices:
            numbers = max(self.index.shape[1], queries, keys) * max(every, batch * heads)
            if len(self.matrices) >= MATRICES:
                self.matrices.pop(next(iter(self.matrices)))
            made = csr(*self.within(queries, keys, start), queries, keys, numbers)
            self.matrices[wanted] = made.stack(batch, heads, shared)
        return self.matrices[wanted]

    def _unordered(self) -> Csr:
        """Give the edges in the order in which they came, each counted.

        Raises:
            ConfigError: If equal edges count once, which depends on their values.
        """
        if self.duplicates != "each":
            raise ConfigError(f"duplicates={self.duplicates!r} compares edges: an exported program counts 'each'")
        source, target = self.index.long()
        order = torch.arange(self.index.shape[1], device=source.device)
        return Csr(order, target, source, order, order, target, order)

    def with_globals(self, index: tuple[int, ...], queries: int, keys: int, start: int) -> Int[Tensor, "2 m"]:
        """Return the edges that `Globals` adds to these: so many more for each position.

        Args:
            index: positions that read all and are read by all.
            queries: number of queries.
            keys: number of keys.
            start: position of the first query.
        """
        device, width = self.index.device, max(self.width, keys)
        i, j = torch.arange(start, start + queries, device=device), torch.arange(keys, device=device)
        reading = torch.tensor([g for g in index if start <= g < start + queries], device=device, dtype=i.dtype)
        read = torch.tensor([g for g in index if g < keys], device=device, dtype=i.dtype)
        pairs = [(reading[:, None] * width + j).flatten(), (i[:, None] * width + read).flatten()]
        source, target = self.index.long()
        new = torch.cat(pairs).unique()
        new = new[~torch.isin(new, target * width + source)]
        return torch.stack([new % width, new.div(width, rounding_mode="floor")]).to(self.index.dtype)
