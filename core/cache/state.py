"""The state of an attention layer between decoding steps; `KeyValues` is the key-value cache.

`zoo.core.cache.static` caches an encoder's vectors, `zoo.core.cache.growing` all tokens, `zoo.core.cache.ring` a
window; `zoo.core.cache.linear_state` has no keys and values, but their sums.
Axes: b rows, n new vectors, k kept ones, g heads of keys and values, d, e head sizes.
"""

from abc import ABC, abstractmethod
from copy import copy
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.errors import InputError
from zoo.core.ops.tensor_check import bounds
from zoo.core.patterns.padding import Keys

Count = int | Tensor
"""A number for each row: an int while it is the same for all."""


class Read(NamedTuple):
    """Keys and values that queries read: those that are cached, and those just appended."""

    k: Float[Tensor, "b k g d"]
    v: Float[Tensor, "b k g e"]
    keys: Keys | None
    positions: Int[Tensor, "b k"] | None


class State(ABC):
    """State of one attention layer between decoding steps: tensors whose first axis is the batch, and counts.

    A subclass keeps its tensors in `tensors`, which are reordered and detached here, and calls `count` for new tokens.

    Args:
        batch: rows.

    Raises:
        InputError: If there is not at least one row.
    """

    def __init__(self, batch: int) -> None:
        if batch < 1:
            raise InputError(f"batch={batch}: a state has at least one row")
        self.batch = batch
        self.length: Count = 0
        self.next: Count = 0
        """Position of the token that follows."""
        self.last: Int[Tensor, "#b n"] | None = None
        """Positions of what was appended last."""
        self.tensors: dict[str, Tensor] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> "State":
        """Give a state that changes by itself, within the autograd graph, where PyTorch copies no tensor."""
        other = memo[id(self)] = copy(self)
        other.tensors = {name: x.clone() for name, x in self.tensors.items()}
        return other

    @abstractmethod
    def crop(self, length: int | Int[Tensor, " b"]) -> None:
        """Forget all but the first tokens of each row; rows that are shorter stay as they are.

        Args:
            length: tokens to keep, for all rows or for each.
        """

    def check_crop(self, length: int | Int[Tensor, " b"]) -> None:  # noqa: B027
        """Refuse what `crop` refuses, and change nothing.

        Args:
            length: tokens to keep, for all rows or for each.
        """

    def reorder(self, index: Int[Tensor, " rows"]) -> None:
        """Select rows in this order, as beam search does; a row may be taken several times or never.

        Raises:
            InputError: If there is no such row, or none is taken.
        """
        check_rows(index, self.batch)
        self.take(index)

    def take(self, index: Int[Tensor, " rows"]) -> None:
        """Do what `reorder` does, unchecked: on a GPU a check waits for it."""
        for name, x in self.tensors.items():
            self.tensors[name] = x.index_select(0, index.to(x.device))
        self.length, self.next = (x if isinstance(x, int) else x[index.to(x.device)] for x in (self.length, self.next))
        self.last = None
        self.batch = len(index)

    def detach(self) -> None:
        """Detach the state from the autograd graph."""
        self.tensors = {name: x.detach() for name, x in self.tensors.items()}

    @property
    def lengths(self) -> Int[Tensor, " b"]:
        """Tokens of each row."""
        return per_row(self.length, self.batch)

    @property
    def stored(self) -> int:
        """How many numbers are kept, room for more included."""
        return sum(x.numel() for x in self.tensors.values())

    def check(self, k: Tensor) -> None:
        """Check the number of rows.

        Raises:
            InputError: If there are not as many as in this state.
        """
        if len(k) != self.batch:
            raise InputError(f"a batch of {len(k)} given to a state of {self.batch} rows")

    def placed(self, n: int, position: Tensor | None, device: torch.device) -> Int[Tensor, "#b n"]:
        """Give the positions of n new vectors."""
        if position is not None:
            return position.to(device)
        start = self.next if isinstance(self.next, int) else self.next[:, None]
        return torch.arange(n, device=device)[None] + start

    def count(
        self, n: int, valid: Bool[Tensor, "b n"] | None, position: Int[Tensor, "#b n"] | None, device: torch.device
    ) -> Int[Tensor, "#b n"]:
        """Count n new tokens of each row, and give their positions.

        Args:
            n: new tokens.
            valid: which of them are there; all if None.
            position: where they stand; what follows if None.
            device: of the tokens.
        """
        where = self.placed(n, position, device)
        if valid is None:
            self.length = self.length + n
            self.next = self.next + n if position is None else per_row(where[:, -1] + 1, self.batch) if n else self.next
        else:
            self.length = self.lengths.to(device) + valid.sum(1)
            if n:  # a row goes on behind its last token that is there
                after = where.masked_fill(~valid, torch.iinfo(where.dtype).min).amax(1) + 1
                self.next = after.where(valid.any(1), per_row(self.next, self.batch).to(device))
        self.last = where
        return where


class KeyValues(State):
    """A key-value cache."""

    @abstractmethod
    def append(
        self,
        k: Float[Tensor, "b n g d"],
        v: Float[Tensor, "b n g e"],
        valid: Bool[Tensor, "b n"] | None = None,
        position: Int[Tensor, "#b n"] | None = None,
    ) -> Read:
        """Append keys and values, and return the keys and values that their queries attend to.

        Args:
            k: keys, already rotated if positions rotate them.
            v: values.
            valid: which of them are there; all if None.
            position: where they stand; what follows if None.
        """

    def room(self, name: str, new: Tensor) -> Tensor:
        """Give the tensor to write to; a copy where what earlier steps read has to stay for their gradients."""
        x = self.tensors[name]
        if torch.is_grad_enabled() and (new.requires_grad or x.requires_grad):
            x = self.tensors[name] = x.clone()
        return x

    def write(self, name: str, new: Tensor, rows: Tensor | None, slots: Tensor) -> None:
        """Put new vectors into slots: (slots,) the same for all rows, or each into its own row and slot."""
        x = self.room(name, new)
        if rows is None:
            x[:, slots] = new
        else:
            x[rows, slots] = new


def check_rows(index: Tensor, batch: int) -> None:
    """Check the rows that are taken of a state.

    Raises:
        InputError: If there is no such row, or none is taken.
    """
    low, high = bounds(index) if len(index) else (-1, -1)
    if not 0 <= low <= high < batch:
        raise InputError(
            f"rows {index.tolist()} are taken of a state of {batch}: at least one, each in 0 … {batch - 1}"
        )


def per_row(count: Count, batch: int) -> Int[Tensor, " b"]:
    """Give a number for each row."""
    return torch.full((batch,), count) if isinstance(count, int) else count.expand(batch)
