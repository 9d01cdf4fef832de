"""What a decoder keeps of the vectors it has read: their keys and values, so that a step costs one query.

`Static` keeps those of an encoder's vectors; `zoo.core.slots` keeps all, `zoo.core.ring` what a window reaches.
Axes: b rows, n new vectors, k kept ones, g heads of keys and values, d, e head sizes.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.errors import InputError
from zoo.core.keys import Keys, Valid
from zoo.core.pattern import Pattern
from zoo.core.tokens import Tokens

Count = int | Tensor
"""A number for each row: an int while it is the same for all."""


class Read(NamedTuple):
    """What queries may read: all that is kept and what was just appended."""

    k: Float[Tensor, "b k g d"]
    v: Float[Tensor, "b k g e"]
    keys: Keys | None
    positions: Int[Tensor, "b k"] | None


class State(ABC):
    """Keep keys and values of one attention for each row of a batch.

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

    @abstractmethod
    def append(
        self,
        k: Float[Tensor, "b n g d"],
        v: Float[Tensor, "b n g e"],
        there: Bool[Tensor, "b n"] | None = None,
        position: Int[Tensor, "#b n"] | None = None,
    ) -> Read:
        """Keep new keys and values, and give what their queries read.

        Args:
            k: keys, already turned if positions turn them.
            v: values.
            there: which of them are there; all if None.
            position: where they stand; what follows if None.
        """

    @abstractmethod
    def crop(self, length: int | Int[Tensor, " b"]) -> None:
        """Forget all but the first tokens of each row; rows that are shorter stay as they are.

        Args:
            length: tokens to keep, for all rows or for each.
        """

    def reorder(self, index: Int[Tensor, " rows"]) -> None:
        """Take these rows in this order, as beam search asks; a row may be taken often or never.

        Raises:
            InputError: If there is no such row, or none is taken.
        """
        refuse_rows(index, self.batch)
        self.take(index)

    def take(self, index: Int[Tensor, " rows"]) -> None:
        """Do what `reorder` does, unchecked: on a GPU a check waits for it."""
        for name, x in self.tensors.items():
            self.tensors[name] = x.index_select(0, index.to(x.device))
        self.length, self.next = (x if isinstance(x, int) else x[index.to(x.device)] for x in (self.length, self.next))
        self.last = None
        self.batch = len(index)

    def detach(self) -> None:
        """Cut what is kept from the graph of gradients."""
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
        """Refuse another batch.

        Raises:
            InputError: If it has another number of rows.
        """
        if len(k) != self.batch:
            raise InputError(f"a batch of {len(k)} given to a state of {self.batch} rows")

    def placed(self, n: int, position: Tensor | None, device: torch.device) -> Int[Tensor, "#b n"]:
        """Give the positions of n new vectors."""
        if position is not None:
            return position.to(device)
        start = self.next if isinstance(self.next, int) else self.next[:, None]
        return torch.arange(n, device=device)[None] + start

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


class Static(State):
    """Keep the keys and values of vectors that do not change, such as an encoder's: they are appended once.

    Args:
        batch: rows.
    """

    def __init__(self, batch: int) -> None:
        super().__init__(batch)
        self.pattern: Pattern | None = None
        """Who may read whom, as the vectors said."""

    @property
    def filled(self) -> bool:
        """Whether keys and values are there."""
        return bool(self.tensors)

    def append(
        self,
        k: Float[Tensor, "b n g d"],
        v: Float[Tensor, "b n g e"],
        there: Bool[Tensor, "b n"] | None = None,
        position: Int[Tensor, "#b n"] | None = None,
    ) -> Read:
        """See `State.append`.

        Raises:
            InputError: If keys and values are there already.
        """
        if self.filled:
            raise InputError(f"a static state of {self.tensors['k'].shape[1]} vectors is given {k.shape[1]} more")
        self.check(k)
        self.tensors = {"k": k, "v": v}
        if there is not None:
            self.tensors["there"] = there
        if position is not None:
            self.tensors["position"] = position.to(k.device).expand(self.batch, -1)
        self.length = k.shape[1] if there is None else there.sum(1)
        return self.read()

    def read(self) -> Read:
        """Give all that is kept."""
        there = self.tensors.get("there")
        keys = None if there is None else Valid(there)
        return Read(self.tensors["k"], self.tensors["v"], keys, self.tensors.get("position"))

    def crop(self, length: int | Int[Tensor, " b"]) -> None:
        """Do nothing: what is read does not shorten with the answer."""


@dataclass
class LayerState:
    """What one block of a decoder keeps.

    Args:
        own: of the attention to what was decoded.
        cross: of the attention to an encoder's vectors; None if the block has none.
    """

    own: State
    cross: Static | None = None

    def placed(self, tokens: Tokens) -> Tokens:
        """Say where vectors stand that the own state was given last."""
        return replace(tokens, position=self.own.last)

    @property
    def parts(self) -> list[State]:
        """The states."""
        return [self.own] if self.cross is None else [self.own, self.cross]


class DecoderState:
    """What a decoder keeps: a state for each block, of which all are reordered, cropped and detached together.

    Args:
        layers: one for each block.
    """

    def __init__(self, layers: list[LayerState]) -> None:
        self.layers = layers

    @property
    def lengths(self) -> Int[Tensor, " b"]:
        """Tokens of each row that were read."""
        return self.layers[0].own.lengths

    @property
    def start(self) -> Count:
        """Position of each row's next token; an int while it is the same for all."""
        return self.layers[0].own.next

    @property
    def next(self) -> Int[Tensor, " b"]:
        """Position of each row's next token."""
        return per_row(self.layers[0].own.next, self.layers[0].own.batch)

    @property
    def stored(self) -> int:
        """How many numbers are kept, room for more included."""
        return sum(part.stored for layer in self.layers for part in layer.parts)

    @property
    def filled(self) -> bool:
        """Whether an encoder's vectors were read already."""
        return all(layer.cross is not None and layer.cross.filled for layer in self.layers)

    def reorder(self, index: Int[Tensor, " rows"], *, of_one_source: bool = False) -> None:
        """Take these rows in this order, as beam search asks; a row may be taken often or never.

        Args:
            index: rows.
            of_one_source: whether each row stays one of the same source, so that an encoder's vectors can stay.

        Raises:
            InputError: If there is no such row, or none is taken.
        """
        refuse_rows(index, self.layers[0].own.batch)
        for layer in self.layers:
            layer.own.take(index)
            if layer.cross is not None and not of_one_source:
                layer.cross.take(index)

    def crop(self, length: int | Int[Tensor, " b"]) -> None:
        """Forget all but the first tokens of each row; an encoder's vectors stay.

        Args:
            length: tokens to keep, for all rows or for each.

        Raises:
            InputError: If a ring has overwritten what would be read then.
        """
        for layer in self.layers:
            layer.own.crop(length)

    def detach(self) -> None:
        """Cut what is kept from the graph of gradients."""
        for layer in self.layers:
            for part in layer.parts:
                part.detach()


def refuse_rows(index: Tensor, batch: int) -> None:
    """Refuse to take rows that are not there, or none.

    Raises:
        InputError: If these are such.
    """
    if not len(index) or not 0 <= int(index.min()) <= int(index.max()) < batch:
        raise InputError(
            f"rows {index.tolist()} are taken of a state of {batch}: at least one, each in 0 … {batch - 1}"
        )


def per_row(count: Count, batch: int) -> Int[Tensor, " b"]:
    """Give a number for each row."""
    return torch.full((batch,), count) if isinstance(count, int) else count.expand(batch)
