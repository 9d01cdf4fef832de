"""`Tokens`, the one type that layers exchange: a batch of vectors with padding mask and attention pattern."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.deprecation import deprecated
from zoo.core.errors import InputError
from zoo.core.ops.tensor_check import values_known
from zoo.core.patterns.padding import Keys, Segments, Valid
from zoo.core.patterns.pattern import Pattern


@dataclass(frozen=True)
class Tokens:
    """Carry a batch of sets of vectors from stem to head.

    Args:
        x: the vectors; b sets of n vectors, d channels.
        pattern: who may read whom; None if everyone reads everyone.
        keys: which vectors are valid (padding, packing); None if all are.
        position: where each vector stands; None for 0, 1, 2, …, or for what follows where a state is read. Padding may
            have any position.
    """

    x: Float[Tensor, "b n d"]
    pattern: Pattern | None = None
    keys: Keys | None = None
    position: Int[Tensor, "#b n"] | None = None

    def with_x(self, x: Float[Tensor, "b n e"]) -> "Tokens":
        """Give the same set with other vectors."""
        return Tokens(x, self.pattern, self.keys, self.position)

    def without_padding(self) -> "Tokens":
        """Return the same tokens with zeros in the padding, so that nothing in it can leak."""
        valid = self.valid()
        return self if valid is None else self.with_x(self.x.masked_fill(~valid[..., None], 0))

    def valid(self) -> Bool[Tensor, "b n"] | None:
        """Return the mask of the valid vectors, False where padding is; None if all are valid."""
        return None if self.keys is None else self.keys.valid(self.x.shape[0], self.x.shape[1], self.x.device)

    @deprecated(since="0.1", until="0.3", instead="`valid()`")
    def there(self) -> Bool[Tensor, "b n"] | None:
        """See `valid`."""
        return self.valid()

    @property
    def positions(self) -> Int[Tensor, "#b n"]:
        """Position of each vector, counted from 0 where none is given."""
        if self.position is None:
            return torch.arange(self.x.shape[1], device=self.x.device)[None]
        return self.position.to(self.x.device)

    def start(self) -> int | Int[Tensor, " b"]:
        """Give the position of the first vector of each row, where they stand one behind the other.

        Raises:
            InputError: If they do not.
        """
        b, n = self.x.shape[:2]
        if self.position is None or n == 0:
            return 0
        shift = (self.positions - torch.arange(n, device=self.x.device)).expand(b, n)
        if n == 1:
            return shift[:, 0]
        valid = self.valid()
        if valid is None:
            lowest = highest = shift
        else:  # what is not there may stand anywhere
            limit = torch.iinfo(shift.dtype)
            lowest, highest = shift.masked_fill(~valid, limit.max), shift.masked_fill(~valid, limit.min)
        first, last = lowest.amin(1), highest.amax(1)
        if values_known(first) and bool((first < last).any()):
            row = int((first < last).nonzero()[0, 0])
            raise InputError(
                f"positions {self.positions.expand(b, n)[row].tolist()} of row {row} are not consecutive, and pattern "
                "or bias depend on them"
            )
        return last.where(first <= last, 0)


def tokens_of(value: Any) -> Tokens:
    """Give tokens back, and refuse anything else, such as bare vectors.

    Raises:
        InputError: If it is something else.
    """
    if not isinstance(value, Tokens):
        shown = f"a tensor of {tuple(value.shape)}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
        raise InputError(f"{shown} where Tokens belong: wrap vectors (batch, length, channels) as Tokens(x)")
    return value


def rows(tokens: Tokens, index: Int[Tensor, " rows"]) -> Tokens:
    """Select rows of a batch, in this order."""
    valid, position = tokens.valid(), tokens.position
    return replace(
        tokens,
        x=tokens.x[index],
        keys=None if valid is None else Valid(valid[index]),
        position=position if position is None or len(position) == 1 else position[index],
    )


def left_padded(x: Float[Tensor, "b n d"], lengths: Int[Tensor, " b"], pattern: Pattern | None = None) -> Tokens:
    """Make tokens of rows whose padding stands in front; each row counts its positions from its first vector.

    Args:
        x: the vectors, padding first.
        lengths: vectors that are there, for each row.
        pattern: who may read whom.

    Raises:
        InputError: If a length is more than there is, or negative.
    """
    b, n = x.shape[:2]
    if lengths.shape != (b,) or bool(((lengths < 0) | (lengths > n)).any()):
        raise InputError(f"lengths={lengths.tolist()} of {b} rows of {n} vectors")
    position = torch.arange(n, device=x.device) - (n - lengths.to(x.device))[:, None]
    return Tokens(x, pattern, Valid(position >= 0), position)


def check_consecutive(tokens: Tokens) -> None:
    """Refuse positions that do not follow each other within their set, where only offsets between them matter.

    Raises:
        InputError: If there are any.
    """
    if tokens.position is None or not isinstance(tokens.keys, Segments):
        tokens.start()
        return
    ids, position = tokens.keys.ids.to(tokens.x.device), tokens.positions
    inside = (ids[:, 1:] == ids[:, :-1]) & (ids[:, 1:] >= 0)
    bad = inside & (position[:, 1:] - position[:, :-1] != 1)
    if values_known(bad) and bool(bad.any()):
        row, n = bad.nonzero()[0].tolist()
        pair = position.expand_as(ids)[row, n : n + 2].tolist()
        raise InputError(f"positions {pair} stand side by side in a packed set of row {row}: they are not consecutive")
