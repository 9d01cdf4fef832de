"""Which keys are there: padding and packing are data, not pattern.

Axes: b rows, q queries, k keys.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from zoo.core.errors import InputError


class Keys(ABC):
    """Say which keys are there."""

    @abstractmethod
    def valid(self, batch: int, length: int, device: torch.device) -> Bool[Tensor, "b k"]:
        """Give True where a key is there.

        Raises:
            InputError: If what is stored does not fit this batch and length.
        """

    @abstractmethod
    def row(self, index: int) -> "Keys":
        """Give the keys of one row of the batch."""


@dataclass(frozen=True, eq=False)
class Lengths(Keys):
    """Let the first `t` keys of each row be there."""

    t: Int[Tensor, " b"]

    def valid(self, batch: int, length: int, device: torch.device) -> Bool[Tensor, "b k"]:
        """See `Keys.valid`."""
        if self.t.shape != (batch,):
            raise InputError(f"Lengths of {tuple(self.t.shape)} for a batch of {batch}")
        if self.t.is_floating_point() or self.t.dtype is torch.bool:
            raise InputError(f"Lengths are whole numbers; got {self.t.dtype}")
        if not torch.compiler.is_compiling() and batch and not 0 <= int(self.t.min()) <= int(self.t.max()) <= length:
            raise InputError(f"Lengths must lie in 0 … {length}, the number of keys; got {self.t.tolist()}")
        return torch.arange(length, device=device) < self.t.to(device)[:, None]

    def row(self, index: int) -> "Lengths":
        """See `Keys.row`."""
        return Lengths(self.t[index : index + 1])


@dataclass(frozen=True, eq=False)
class Valid(Keys):
    """Let the keys be there where the mask is True."""

    there: Tensor

    def valid(self, batch: int, length: int, device: torch.device) -> Bool[Tensor, "b k"]:
        """See `Keys.valid`."""
        if self.there.dtype != torch.bool or self.there.shape != (batch, length):
            shape, dtype = tuple(self.there.shape), self.there.dtype
            raise InputError(f"Valid needs a boolean mask of {(batch, length)}; got {shape} of {dtype}")
        return self.there.to(device)

    def row(self, index: int) -> "Valid":
        """See `Keys.row`."""
        return Valid(self.there[index : index + 1])


@dataclass(frozen=True, eq=False)
class Segments(Keys):
    """Pack several sets into one row: a query reads only keys of its own set.

    Args:
        ids: which set each key belongs to; negative where no key is there.
        queries: the same for the queries; None if queries and keys are the same vectors.
    """

    ids: Int[Tensor, "b k"]
    queries: Int[Tensor, "b q"] | None = None

    def valid(self, batch: int, length: int, device: torch.device) -> Bool[Tensor, "b k"]:
        """See `Keys.valid`."""
        if self.ids.shape != (batch, length):
            raise InputError(f"Segments of {tuple(self.ids.shape)} for {(batch, length)} keys")
        if self.ids.is_floating_point():
            raise InputError(f"Segments are whole numbers; got {self.ids.dtype}")
        return self.ids.to(device) >= 0

    def row(self, index: int) -> "Segments":
        """See `Keys.row`."""
        queries = None if self.queries is None else self.queries[index : index + 1]
        return Segments(self.ids[index : index + 1], queries)

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
