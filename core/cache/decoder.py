"""`DecoderState`, the cache of a decoder between steps: a state for each attention of each layer.

Axes: see `zoo.core.cache.state`.
"""

from dataclasses import dataclass, replace

from jaxtyping import Int
from torch import Tensor

from zoo.core.cache.state import Count, State, check_rows, per_row
from zoo.core.cache.static import Static
from zoo.core.tokens import Tokens


@dataclass
class LayerState:
    """State of one decoder block: that of self-attention and that of cross-attention.

    Args:
        own: of the attention to what was decoded.
        cross: of the attention to an encoder's vectors; None if the block has none.
    """

    own: State
    cross: Static | None = None

    def placed(self, tokens: Tokens) -> Tokens:
        """Return the tokens with the positions that self-attention gave them last."""
        return replace(tokens, position=self.own.last)

    @property
    def parts(self) -> list[State]:
        """The states."""
        return [self.own] if self.cross is None else [self.own, self.cross]


class DecoderState:
    """State of a decoder (key-value cache): a state for each block, reordered, cropped and detached together.

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
        """Select rows in this order, as beam search does; a row may be taken several times or never.

        Args:
            index: rows.
            of_one_source: whether each row stays one of the same source, so that an encoder's vectors can stay.

        Raises:
            InputError: If there is no such row, or none is taken.
        """
        check_rows(index, self.layers[0].own.batch)
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
        for layer in self.layers:  # all or none
            layer.own.check_crop(length)
        for layer in self.layers:
            layer.own.crop(length)

    def detach(self) -> None:
        """Detach the state from the autograd graph."""
        for layer in self.layers:
            for part in layer.parts:
                part.detach()
