"""`Pattern`, the base class of attention patterns: which query may attend to which key; and `&` and `|` of patterns.

True means "may read". Positions are absolute, so a decoder that reads from a cache and one that sees all at once agree.
More patterns: `zoo.core.patterns.basic`, `zoo.core.patterns.local`, `zoo.core.patterns.sparse`,
`zoo.core.patterns.edges`; normal forms: `zoo.core.patterns.canonical`.
Axes: r rows of the batch (or 1), h heads (or 1), q queries, k keys.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from zoo.core.errors import InputError


@dataclass(frozen=True)
class BoundingBand:
    """A band, columns and rows that contain every pair a pattern allows.

    Args:
        left: how far back a query reads; None for any distance.
        right: how far ahead a query reads; None for any distance.
        keys: positions that may be read from anywhere.
        queries: positions that may read anything.
    """

    left: int | None
    right: int | None
    keys: tuple[int, ...] = ()
    queries: tuple[int, ...] = ()


@dataclass(frozen=True)
class ShapeInfo:
    """Numbers and positions of the queries and keys that a pattern is used with.

    Args:
        queries: number of queries.
        keys: number of keys; they stand at 0, 1, 2, …
        start: position of the first query; None if rows differ.
        whole: whether these are all there are: of a decoder's state they are a part, and a pattern may name others.
        fixed: whether there are always so many, as in a model for images of one size.
    """

    queries: int
    keys: int
    start: int | None = 0
    whole: bool = True
    fixed: bool = False

    @property
    def end(self) -> int:
        """Position behind the last query, as far as it is known."""
        return (self.start or 0) + self.queries


class Pattern(ABC):
    """Attention pattern: which query may attend to which key."""

    by_value: bool = True
    """Whether equal patterns are equal by value, so that what is known of one may be kept; others hold tensors."""
    by_row: bool = False
    """Whether rows or heads differ, so that there is a mask, but no `allows`."""

    def mask(self, queries: Int[Tensor, "r q"], keys: Int[Tensor, "... k"]) -> Bool[Tensor, "rows h q k"]:
        """Give the pattern as a tensor.

        Args:
            queries: absolute position of each query, by row of the batch (or one row for all).
            keys: absolute position of each key, for all rows or by row.
        """
        return self.allows(queries[:, None, :, None], keys[..., None, None, :])

    @abstractmethod
    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        """Tell whether the query at position i may read the key at position j; i and j broadcast."""

    def misfit(self, extent: ShapeInfo) -> str | None:
        """Return why the pattern has no meaning for these queries and keys; None if it has one.

        Args:
            extent: how many there are, and from where on.
        """
        return None

    def fit(self, queries: int, keys: int, start: int | None = 0, whole: bool = True) -> None:
        """Refuse numbers of queries and keys for which the pattern has no meaning; see `ShapeInfo` for them.

        Raises:
            InputError: If they do not fit.
        """
        why = self.misfit(ShapeInfo(queries, keys, start, whole))
        if why is not None:
            raise InputError(why)

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

    def edges(self, queries: int, keys: int, start: int = 0) -> Int[Tensor, "2 pairs"]:
        """List the pairs that are allowed: positions of keys in row 0, of queries in row 1, ordered by query.

        Args:
            queries: number of queries.
            keys: number of keys.
            start: position of the first query.
        """
        j = torch.arange(keys)
        blocks = torch.arange(start, start + queries)[None].split(256, dim=1)
        found = [self.mask(block, j)[0, 0].nonzero() for block in blocks]
        shifted = [pairs + torch.tensor([start + 256 * n, 0]) for n, pairs in enumerate(found)]
        return torch.cat([torch.empty(0, 2, dtype=torch.long), *shifted]).flip(1).T.contiguous()

    def keeps(self, keys: Any) -> bool:
        """Tell whether the pattern never leads to a key that these forbid, so that nobody needs to look again."""
        return False

    def cover(self) -> BoundingBand:
        """Bound the pattern; without a bound of its own it covers everything."""
        return BoundingBand(None, None)

    def mask_mod(self, start: int = 0) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
        """Give the function `(batch, head, query, key) -> bool` that PyTorch's FlexAttention asks for.

        Args:
            start: position of the first query.
        """
        return lambda b, h, q, k: self.allows(q + start, k)

    def __and__(self, other: "Pattern") -> "Pattern":
        if not isinstance(other, Pattern):
            return NotImplemented
        return self if isinstance(other, Full) else And(self, other)

    def __or__(self, other: "Pattern") -> "Pattern":
        if not isinstance(other, Pattern):
            return NotImplemented
        return other if isinstance(other, Full) else Or(self, other)


@dataclass(frozen=True)
class Full(Pattern):
    """Let every query read every key."""

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        return torch.ones(torch.broadcast_shapes(i.shape, j.shape), dtype=torch.bool, device=i.device)

    def pairs(self, queries: int, keys: int, start: int = 0) -> int:
        return queries * keys

    def __and__(self, other: Pattern) -> Pattern:
        return other

    def __or__(self, other: Pattern) -> Pattern:
        return self

    def __str__(self) -> str:
        return "full"


@dataclass(frozen=True, repr=False)
class Joined(Pattern):
    """Hold two patterns; the subclasses say how they join."""

    left: Pattern
    right: Pattern
    sign: ClassVar[str]
    """What stands between the two in a text."""
    binds: ClassVar[int]
    """Of two signs without brackets, the one that binds more is read first; of equal ones the left."""

    @property
    def by_value(self) -> bool:  # type: ignore[override]
        """See `Pattern.by_value`."""
        return self.left.by_value and self.right.by_value

    @property
    def by_row(self) -> bool:  # type: ignore[override]
        """See `Pattern.by_row`."""
        return self.left.by_row or self.right.by_row

    def misfit(self, extent: ShapeInfo) -> str | None:
        return self.left.misfit(extent) or self.right.misfit(extent)

    def __repr__(self) -> str:
        return self._shown(repr)

    def __str__(self) -> str:
        return self._shown(str)

    def _shown(self, show: Callable[[Pattern], str]) -> str:
        """Write both, in brackets where they would be read as something else without."""
        left, right = show(self.left), show(self.right)
        if isinstance(self.left, Joined) and self.left.binds < self.binds:
            left = f"({left})"
        if isinstance(self.right, Joined) and self.right.binds <= self.binds:
            right = f"({right})"
        return f"{left} {self.sign} {right}"


@dataclass(frozen=True, repr=False)
class And(Joined):
    """Let a pair read that both patterns allow."""

    sign = "&"
    binds = 1

    def mask(self, queries: Int[Tensor, "r q"], keys: Int[Tensor, "... k"]) -> Bool[Tensor, "rows h q k"]:
        return self.left.mask(queries, keys) & self.right.mask(queries, keys)

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        return self.left.allows(i, j) & self.right.allows(i, j)

    def keeps(self, keys: Any) -> bool:
        return self.left.keeps(keys) or self.right.keeps(keys)

    def cover(self) -> BoundingBand:
        """See `Pattern.cover`; the columns and rows of either stay."""
        a, b = self.left.cover(), self.right.cover()
        return BoundingBand(_least(a.left, b.left), _least(a.right, b.right), *_specials(a, b))


@dataclass(frozen=True, repr=False)
class Or(Joined):
    """Let a pair read that either pattern allows."""

    sign = "|"
    binds = 0

    def mask(self, queries: Int[Tensor, "r q"], keys: Int[Tensor, "... k"]) -> Bool[Tensor, "rows h q k"]:
        return self.left.mask(queries, keys) | self.right.mask(queries, keys)

    def allows(self, i: Int[Tensor, "*i"], j: Int[Tensor, "*j"]) -> Bool[Tensor, "*ij"]:
        return self.left.allows(i, j) | self.right.allows(i, j)

    def cover(self) -> BoundingBand:
        a, b = self.left.cover(), self.right.cover()
        return BoundingBand(_most(a.left, b.left), _most(a.right, b.right), *_specials(a, b))


def _least(a: int | None, b: int | None) -> int | None:
    return min((x for x in (a, b) if x is not None), default=None)


def _most(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else max(a, b)


def _specials(a: BoundingBand, b: BoundingBand) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(sorted({*a.keys, *b.keys})), tuple(sorted({*a.queries, *b.queries}))
