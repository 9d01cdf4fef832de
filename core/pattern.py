"""Who may read whom, as values that can be inspected: patterns for pairs, keys for what is there at all.

True means "may read". Positions are absolute, so a decoder that reads from a cache and one that sees all at once agree.
Axes: r rows of the batch (or 1), h heads (or 1), q queries, k keys.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from zoo.core.errors import ConfigError, InputError


class Pattern(ABC):
    """Say which query may read which key."""

    def mask(self, queries: Int[Tensor, "r q"], keys: Int[Tensor, " k"]) -> Bool[Tensor, "rows h q k"]:
        """Give the pattern as a tensor.

        Args:
            queries: absolute position of each query, by row of the batch (or one row for all).
            keys: absolute position of each key.
        """
        return self.allows(queries[:, None, :, None], keys)

    @abstractmethod
    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        """Tell whether the query at position i may read the key at position j; i and j broadcast."""

    def pairs(self, queries: int, keys: int, start: int = 0) -> int:
        """Count the pairs that are allowed, which is what attention has to cost.

        Args:
            queries: number of queries.
            keys: number of keys.
            start: position of the first query.
        """
        j = torch.arange(keys)
        blocks = torch.arange(start, start + queries)[None].split(256, dim=1)
        return sum(int(self.mask(block, j).sum()) for block in blocks)

    def __and__(self, other: "Pattern") -> "Pattern":
        return self if isinstance(other, Full) else And(self, other)

    def __or__(self, other: "Pattern") -> "Pattern":
        return other if isinstance(other, Full) else Or(self, other)


@dataclass(frozen=True)
class Full(Pattern):
    """Let every query read every key."""

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        """See `Pattern.allows`."""
        return torch.ones(torch.broadcast_shapes(i.shape, j.shape), dtype=torch.bool, device=i.device)

    def pairs(self, queries: int, keys: int, start: int = 0) -> int:
        """See `Pattern.pairs`."""
        return queries * keys

    def __and__(self, other: Pattern) -> Pattern:
        return other

    def __or__(self, other: Pattern) -> Pattern:
        return self


@dataclass(frozen=True)
class Causal(Pattern):
    """Let a query read the keys up to its own position."""

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        """See `Pattern.allows`."""
        return j <= i

    def pairs(self, queries: int, keys: int, start: int = 0) -> int:
        """See `Pattern.pairs`."""
        growing = min(queries, max(0, keys - start))
        return growing * start + growing * (growing + 1) // 2 + (queries - growing) * keys


@dataclass(frozen=True, eq=False)
class Explicit(Pattern):
    """Let the pairs of a given mask read: (q, k), (rows, q, k) or (rows, heads, q, k), by absolute position."""

    may_read: Tensor

    def __post_init__(self) -> None:
        if self.may_read.dtype != torch.bool or not 2 <= self.may_read.ndim <= 4:
            shape, dtype = tuple(self.may_read.shape), self.may_read.dtype
            raise InputError(
                f"Explicit needs a boolean mask (q, k), (rows, q, k) or (rows, heads, q, k); got {shape} of {dtype}"
            )

    def mask(self, queries: Int[Tensor, "r q"], keys: Int[Tensor, " k"]) -> Bool[Tensor, "rows h q k"]:
        """See `Pattern.mask`."""
        rows, columns = self.may_read.shape[-2:]
        if queries.numel() and keys.numel() and (int(queries.max()) >= rows or int(keys.max()) >= columns):
            needed = (int(queries.max()) + 1, int(keys.max()) + 1)
            raise InputError(f"Explicit mask of {(rows, columns)} queries and keys is read at {needed}")
        full = self.may_read.to(queries.device)
        full = full[:, None] if full.ndim == 3 else full[(None,) * (4 - full.ndim)]
        if len(full) > 1 and len(queries) > 1 and len(full) != len(queries):
            raise InputError(f"Explicit mask of {len(full)} rows for a batch of {len(queries)}")
        r = torch.arange(max(len(full), len(queries)), device=queries.device)
        picked = full.expand(len(r), -1, -1, -1)[r[:, None], :, queries.expand(len(r), -1)]
        return picked.transpose(1, 2)[..., keys]

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        """See `Pattern.allows`; defined for a mask that is the same for all rows and heads."""
        if self.may_read.ndim != 2:
            raise ConfigError(f"a mask of {self.may_read.ndim} axes depends on row and head: use mask(), not allows()")
        return self.may_read[i, j]


@dataclass(frozen=True)
class And(Pattern):
    """Let a pair read that both patterns allow."""

    left: Pattern
    right: Pattern

    def mask(self, queries: Int[Tensor, "r q"], keys: Int[Tensor, " k"]) -> Bool[Tensor, "rows h q k"]:
        """See `Pattern.mask`."""
        return self.left.mask(queries, keys) & self.right.mask(queries, keys)

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        """See `Pattern.allows`."""
        return self.left.allows(i, j) & self.right.allows(i, j)


@dataclass(frozen=True)
class Or(Pattern):
    """Let a pair read that either pattern allows."""

    left: Pattern
    right: Pattern

    def mask(self, queries: Int[Tensor, "r q"], keys: Int[Tensor, " k"]) -> Bool[Tensor, "rows h q k"]:
        """See `Pattern.mask`."""
        return self.left.mask(queries, keys) | self.right.mask(queries, keys)

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        """See `Pattern.allows`."""
        return self.left.allows(i, j) | self.right.allows(i, j)


class Keys(ABC):
    """Say which keys are there: padding is data, not pattern."""

    @abstractmethod
    def valid(self, batch: int, length: int, device: torch.device) -> Bool[Tensor, "b k"]:
        """Give True where a key is there.

        Raises:
            InputError: If what is stored does not fit this batch and length.
        """


@dataclass(frozen=True, eq=False)
class Lengths(Keys):
    """Let the first `t` keys of each row be there."""

    t: Int[Tensor, " b"]

    def valid(self, batch: int, length: int, device: torch.device) -> Bool[Tensor, "b k"]:
        """See `Keys.valid`."""
        if self.t.shape != (batch,):
            raise InputError(f"Lengths of {tuple(self.t.shape)} for a batch of {batch}")
        if not torch.compiler.is_compiling() and batch and not 0 <= int(self.t.min()) <= int(self.t.max()) <= length:
            raise InputError(f"Lengths must lie in 0 … {length}, the number of keys; got {self.t.tolist()}")
        return torch.arange(length, device=device) < self.t.to(device)[:, None]


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
