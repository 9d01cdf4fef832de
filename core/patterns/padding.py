"""Padding and packing masks: which keys are valid, and which sequence of a packed row they belong to.

Axes: b rows, q queries, k keys.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.errors import InputError
from zoo.core.ops.tensor_check import bounds, values_known


class Keys(ABC):
    """Padding mask: says which keys are valid, and which are padding."""

    @abstractmethod
    def valid(self, batch: int, length: int, device: torch.device) -> Bool[Tensor, "b k"]:
        """Return the mask (batch, length), True where a key is valid.

        Raises:
            InputError: If what is stored does not fit this batch and length.
        """

    @abstractmethod
    def row(self, index: int) -> "Keys":
        """Give the keys of one row of the batch."""


@dataclass(frozen=True, eq=False)
class Lengths(Keys):
    """Padding mask from lengths: the first `t` keys of each row are valid."""

    t: Int[Tensor, " b"]

    def valid(self, batch: int, length: int, device: torch.device) -> Bool[Tensor, "b k"]:
        if self.t.shape != (batch,):
            raise InputError(f"Lengths of {tuple(self.t.shape)} for a batch of {batch}")
        if self.t.is_floating_point() or self.t.dtype is torch.bool:
            raise InputError(f"Lengths are whole numbers; got {self.t.dtype}")
        if values_known(self.t) and batch:
            shortest, longest = bounds(self.t)
            if not 0 <= shortest <= longest <= length:
                raise InputError(f"Lengths must lie in 0 … {length}, the number of keys; got {self.t.tolist()}")
        return torch.arange(length, device=device) < self.t.to(device)[:, None]

    def row(self, index: int) -> "Lengths":
        return Lengths(self.t[index : index + 1])


@dataclass(frozen=True, eq=False)
class Valid(Keys):
    """Padding mask from a boolean mask, True where a key is valid."""

    mask: Tensor

    def valid(self, batch: int, length: int, device: torch.device) -> Bool[Tensor, "b k"]:
        if self.mask.dtype != torch.bool or self.mask.shape != (batch, length):
            shape, dtype = tuple(self.mask.shape), self.mask.dtype
            raise InputError(f"Valid needs a boolean mask of {(batch, length)}; got {shape} of {dtype}")
        return self.mask.to(device)

    def row(self, index: int) -> "Valid":
        return Valid(self.mask[index : index + 1])


@dataclass(frozen=True, eq=False)
class Segments(Keys):
    """Pack several sets into one row: a query reads only keys of its own set.

    Args:
        ids: which set each key belongs to; negative where no key is there.
        queries: the same for the queries; None if queries and keys are the same vectors.
        count: sets of each row, of which some may be empty; one more than the highest id if None.
    """

    ids: Int[Tensor, "b k"]
    queries: Int[Tensor, "b q"] | None = None
    count: int | None = None

    def valid(self, batch: int, length: int, device: torch.device) -> Bool[Tensor, "b k"]:
        if self.ids.shape != (batch, length):
            raise InputError(f"Segments of {tuple(self.ids.shape)} for {(batch, length)} keys")
        if self.ids.is_floating_point():
            raise InputError(f"Segments are whole numbers; got {self.ids.dtype}")
        return self.ids.to(device) >= 0

    @cached_property
    def contiguous(self) -> bool:
        """Whether queries and keys are the same vectors, and each set of a row stands in one piece."""
        ids, queries = self.ids, self.queries
        if ids.is_meta or not (queries is None or torch.equal(ids, queries.to(ids.device))):
            return False
        begins = torch.ones_like(ids, dtype=torch.bool)
        begins[:, 1:] = ids[:, 1:] != ids[:, :-1]
        begun = ids.masked_fill(~begins, -1).sort(dim=1).values
        return not bool(((begun[:, 1:] == begun[:, :-1]) & (begun[:, 1:] >= 0)).any())

    @cached_property
    def unpacked(self) -> "Unpacked":
        """Where each set goes as a row of its own; for sets that are `contiguous`."""
        index = (self.ids >= 0).flatten().nonzero()[:, 0]
        row = index // max(self.ids.shape[1], 1)
        named = torch.stack([row, self.ids.flatten()[index]])
        _, which, lengths = torch.unique_consecutive(named, dim=1, return_inverse=True, return_counts=True)
        longest = int(lengths.max()) if len(lengths) else 0
        place = torch.arange(len(index), device=index.device) - (lengths.cumsum(0) - lengths)[which]
        return Unpacked(index, which * longest + place, lengths, longest)

    def row(self, index: int) -> "Segments":
        queries = None if self.queries is None else self.queries[index : index + 1]
        return Segments(self.ids[index : index + 1], queries, self.count)

    @property
    def sets(self) -> int:
        """Sets of each row."""
        if self.count is not None:
            return self.count
        return int(self.ids.max()) + 1 if self.ids.numel() else 0

    def of_queries(self, length: int) -> Int[Tensor, "b q"]:
        """Give the set of each query.

        Raises:
            InputError: If there are not as many as queries.
        """
        ids = self.ids if self.queries is None else self.queries
        if ids.shape != (len(self.ids), length):
            wanted = (len(self.ids), length)
            raise InputError(f"Segments of {tuple(ids.shape)} for {wanted} queries: give `queries=` for them")
        return ids


@dataclass(frozen=True, eq=False)
class Unpacked:
    """Give each of several packed sets a row of its own, with padding behind it.

    Args:
        index: where the vectors that are there stand, rows one behind the other.
        place: where they go.
        lengths: vectors of each set.
        longest: places of a row.
    """

    index: Int[Tensor, " m"]
    place: Int[Tensor, " m"]
    lengths: Int[Tensor, " s"]
    longest: int

    def pad(self, x: Float[Tensor, "b n h d"]) -> Float[Tensor, "s longest h d"]:
        """Give the rows; what is not there is 0."""
        rows = x.new_zeros(len(self.lengths) * self.longest, *x.shape[2:])
        return rows.index_copy(0, self.place.to(x.device), self._vectors(x)).unflatten(0, (-1, self.longest))

    def repack(self, y: Float[Tensor, "s longest h d"], batch: int, length: int) -> Float[Tensor, "b n h d"]:
        """Put what was computed back; what is not there is 0."""
        found = y.flatten(0, 1).index_select(0, self.place.to(y.device))
        rows = y.new_zeros(batch * length, *y.shape[2:]).index_copy(0, self.index.to(y.device), found)
        return rows.unflatten(0, (batch, length))

    def each(self, x: Float[Tensor, "b n h d"]) -> list[Float[Tensor, "1 _ h d"]]:
        """Give the vectors of each set alone."""
        return [one[None] for one in self._vectors(x).split(self.lengths.tolist())]

    def concatenate(self, ys: list[Float[Tensor, "1 _ h d"]], batch: int, length: int) -> Float[Tensor, "b n h d"]:
        """Put what was computed of each set back; what is not there is 0."""
        found = torch.cat([y[0] for y in ys])
        if not self._fills(batch, length):
            none = found.new_zeros(batch * length, *found.shape[1:])
            found = none.index_copy(0, self.index.to(found.device), found)
        return found.unflatten(0, (batch, length))

    def _vectors(self, x: Tensor) -> Tensor:
        flat = x.flatten(0, 1)
        return flat if self._fills(*x.shape[:2]) else flat.index_select(0, self.index.to(x.device))

    def _fills(self, batch: int, length: int) -> bool:
        return len(self.index) == batch * length
