"""Compressed sparse rows (CSR) of edges, by query and by key, for sparse matrix products.

A row is a query, a column a key, an entry an edge; entries are ordered by row, and a second order, by column, serves
the transposed products. Heads and rows of a batch read the same graph: `stack` makes one large matrix of copies of it,
so that few calls serve small graphs.
Axes: n entries, r rows, c columns, e edges, d head size.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import inf

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

INT32 = 2**31 - 1
"""Numbers up to which positions are kept in 32 bits: half the memory, and what the kernels like best."""
SHORT = 8
"""Entries of a row on the average up to which sums are faster entry by entry than row by row, on a CPU."""


@dataclass(frozen=True, eq=False)
class Csr:
    """Hold a graph.

    Args:
        pointers: where each row begins, and the end.
        rows: of the entries.
        columns: of the entries.
        edges: which edge of the caller's list each entry is.
        back_pointers: where each column begins in the order by column, and the end.
        back_rows: of the entries in the order by column.
        back_order: the entries in the order by column.
        stacked: of what this is a stack, for so many rows of a batch; None if it is none.
    """

    pointers: Int[Tensor, " pointers"]
    rows: Int[Tensor, " n"]
    columns: Int[Tensor, " n"]
    edges: Int[Tensor, " n"]
    back_pointers: Int[Tensor, " back"]
    back_rows: Int[Tensor, " n"]
    back_order: Int[Tensor, " n"]
    stacked: "tuple[Csr, int] | None" = None

    @cached_property
    def single(self) -> "Csr":
        """The matrix without heads, whose entries have a number for each."""
        return self if self.stacked is None else self.stacked[0].stack(self.stacked[1], 1)

    @cached_property
    def of_single(self) -> Int[Tensor, " n"]:
        """Where each entry stands among the numbers by head (entries, heads) of `single`."""
        heads = (len(self.pointers) - 1) // max(len(self.single.pointers) - 1, 1)
        rows = self.rows // heads
        entries = torch.arange(len(rows), device=rows.device, dtype=rows.dtype) - self.pointers.index_select(
            0, self.rows
        )
        return (entries + self.single.pointers.index_select(0, rows)) * heads + self.rows % heads

    @cached_property
    def from_single(self) -> Int[Tensor, " n"]:
        """Which entry each of these numbers belongs to."""
        return torch.argsort(self.of_single).to(self.rows.dtype)

    @cached_property
    def ends(self) -> Int[Tensor, "n 2"]:
        """Row and column of each entry, columns counted on behind the rows."""
        return torch.stack([self.rows, self.columns + (len(self.pointers) - 1)], 1)

    @cached_property
    def back_ends(self) -> Int[Tensor, "n 2"]:
        """The same in the order by column."""
        return self.ends.index_select(0, self.back_order)

    def products(
        self,
        q: Float[Tensor, "r d"],
        k: Float[Tensor, "any d"],
        scale: float = 1.0,
        onto: Float[Tensor, " n"] | None = None,
        columns: Int[Tensor, " n"] | None = None,
    ) -> Float[Tensor, " n"]:
        """Give the scaled product of row and column for each entry.

        Args:
            q: a vector for each row.
            k: a vector for each column.
            scale: of the products.
            onto: what they are added to, in place.
            columns: others than the matrix's own.
        """
        columns = self.columns if columns is None else columns
        crowd = -(-len(columns) // max(len(q), 1))  # the kernel has no room for more entries than rows times columns
        k = pad(k, (0, 0, 0, crowd - len(k))) if crowd > len(k) else k
        numbers = q.new_zeros(len(columns)) if onto is None else onto
        _announced()
        matrix = torch.sparse_csr_tensor(self.pointers, columns, numbers, (len(q), len(k)), check_invariants=False)
        torch.sparse.sampled_addmm(matrix, q, k.mT, beta=0 if onto is None else 1, alpha=scale, out=matrix)
        return numbers

    def sums(
        self, weights: Float[Tensor, " n"], v: Float[Tensor, "any d"], columns: Int[Tensor, " n"] | None = None
    ) -> Float[Tensor, "r d"]:
        """Sum the vectors that each row reads by their weights, with columns as for `products`."""
        return _bags(self.pointers, self.columns if columns is None else columns, weights, v)

    def back_sums(self, weights: Float[Tensor, " n"], y: Float[Tensor, "r d"]) -> Float[Tensor, "c d"]:
        """Sum the vectors that read each column by their weights: `sums` transposed."""
        return _bags(self.back_pointers, self.back_rows, weights.index_select(0, self.back_order), y)

    def most(self, numbers: Float[Tensor, " n"]) -> Float[Tensor, " r"]:
        """Give the largest number of each row; -inf for a row without entries."""
        return torch.segment_reduce(numbers, "max", offsets=self.pointers, initial=-inf, unsafe=True)

    def total(self, numbers: Float[Tensor, " n"]) -> Float[Tensor, " r"]:
        """Sum the numbers of each row."""
        rows = len(self.pointers) - 1
        if numbers.is_cpu and len(numbers) <= SHORT * rows:
            return numbers.new_zeros(rows).index_add_(0, self.rows, numbers)
        return torch.segment_reduce(numbers, "sum", offsets=self.pointers, initial=0, unsafe=True)

    def back_total(self, numbers: Float[Tensor, " n"]) -> Float[Tensor, " c"]:
        """Sum the numbers of each column: `total` transposed."""
        ordered = numbers.index_select(0, self.back_order)
        return torch.segment_reduce(ordered, "sum", offsets=self.back_pointers, initial=0, unsafe=True)

    def spread(self, numbers: Float[Tensor, " r"]) -> Float[Tensor, " n"]:
        """Give each entry the number of its row."""
        return numbers.index_select(0, self.rows)

    @cached_property
    def by_edge(self) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"]]:
        """The entries in the order of the caller's edges, those of an edge by head, and their rows."""
        order = torch.argsort(self.edges, stable=True).to(self.rows.dtype)
        return order, self.rows.index_select(0, order)

    def stack(self, batch: int, heads: int, shared: int = 1) -> "Csr":
        """Set copies into one matrix, placed as vectors lie in a tensor (b, n, h, d); `edges` is repeated.

        Args:
            batch: rows of the batch.
            heads: heads of each, whose vectors lie side by side.
            shared: how many heads have the same columns (not in the transposed products).
        """
        one = self if heads == 1 else self._beside(heads, shared)
        if batch == 1:
            return one if heads == 1 else replace(one, stacked=(self, 1))
        entries, rows, columns = len(one.rows), len(one.pointers) - 1, (len(self.back_pointers) - 1) * heads // shared
        copies = torch.arange(batch, device=self.rows.device, dtype=self.rows.dtype)[:, None]

        def repeated(x: Tensor, step: int) -> Tensor:
            return (x + copies * step).flatten()

        return Csr(
            torch.cat([repeated(one.pointers[:-1], entries), one.pointers[-1:] * batch]),
            repeated(one.rows, rows),
            repeated(one.columns, columns),
            repeated(one.edges, 0),
            torch.cat([repeated(one.back_pointers[:-1], entries), one.back_pointers[-1:] * batch]),
            repeated(one.back_rows, rows),
            repeated(one.back_order, entries),
            None if heads == 1 else (self, batch),
        )

    def _beside(self, heads: int, shared: int) -> "Csr":
        """Set a copy for each head: rows and columns of one node follow each other."""
        pointers, rows, entries = _repeated(self.pointers, heads)
        back_pointers, back_columns, back_entries = _repeated(self.back_pointers, heads)
        from_rows = self.back_rows.index_select(0, back_entries)
        back_rows = from_rows * heads + back_columns % heads
        within = self.back_order.index_select(0, back_entries) - self.pointers.index_select(0, from_rows)
        return Csr(
            pointers,
            rows,
            self.columns.index_select(0, entries) * (heads // shared) + rows % heads // shared,
            self.edges.index_select(0, entries),
            back_pointers,
            back_rows,
            pointers.index_select(0, back_rows) + within,
        )


def _repeated(pointers: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Give pointers to rows that are there once for each head, and of each of their entries the row and the entry."""
    counts = pointers.diff()[:, None].expand(-1, heads)
    copies = torch.arange(heads, device=pointers.device, dtype=pointers.dtype)
    begins = (pointers[:-1, None] * heads + counts * copies).flatten()
    numbers = torch.arange(heads * int(pointers[-1]), device=pointers.device, dtype=pointers.dtype)
    rows = torch.arange(len(begins), device=pointers.device, dtype=pointers.dtype)
    rows = rows.repeat_interleave(counts.flatten(), output_size=len(numbers))
    entries = numbers - begins.index_select(0, rows) + pointers.index_select(0, rows // heads)
    return torch.cat([begins, pointers[-1:] * heads]), rows, entries


def _bags(pointers: Tensor, columns: Tensor, weights: Tensor, v: Tensor) -> Tensor:
    """Call what `torch.nn.functional.embedding_bag` calls, whose checks take as long as a small graph."""
    return torch.embedding_bag(v, columns, pointers, False, 0, False, weights, True)[0]


@cache
def _announced() -> None:
    """Let PyTorch say once, unheard, that sparse tensors are in beta: to silence each call takes 10 us."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        begins, nothing = torch.tensor([0, 0]), torch.tensor([], dtype=torch.long)
        torch.sparse_csr_tensor(begins, nothing, torch.tensor([]), (1, 1), check_invariants=False)


def csr(edges: Int[Tensor, "2 e"], places: Int[Tensor, " e"], queries: int, keys: int, numbers: int) -> Csr:
    """Make the matrices of a graph.

    Args:
        edges: keys in row 0 and queries in row 1, ordered by query.
        places: of the edges in the caller's list.
        queries: number of queries.
        keys: number of keys.
        numbers: how high positions may count, here and in what is made of it.
    """
    source, target = edges.to(torch.int32 if numbers <= INT32 else torch.int64)
    back_order = torch.argsort(source, stable=True)
    return Csr(
        _begins(target, queries),
        target.contiguous(),
        source.contiguous(),
        places.to(source.dtype),
        _begins(source[back_order], keys),
        target[back_order],
        back_order.to(source.dtype),
    )


def _begins(ordered: Int[Tensor, " e"], count: int) -> Int[Tensor, " pointers"]:
    """Say where each number begins in an ordered list, and the end."""
    numbers = torch.arange(count + 1, device=ordered.device, dtype=ordered.dtype)
    return torch.searchsorted(ordered, numbers, out_int32=ordered.dtype == torch.int32)
