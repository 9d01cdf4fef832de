"""`Tokens`, the one type that flows through the house: a set of vectors and who may read whom."""

from dataclasses import dataclass, replace

from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.keys import Keys
from zoo.core.pattern import Pattern


@dataclass(frozen=True)
class Tokens:
    """Carry a batch of sets of vectors from stem to head.

    Args:
        x: the vectors; b sets of n vectors, d channels.
        pattern: who may read whom; None if everyone reads everyone.
        keys: which vectors are there (padding, packing); None if all are.
        position: where each vector stands; None for 0, 1, 2, …
    """

    x: Float[Tensor, "b n d"]
    pattern: Pattern | None = None
    keys: Keys | None = None
    position: Int[Tensor, "#b n"] | None = None

    def with_x(self, x: Float[Tensor, "b n e"]) -> "Tokens":
        """Give the same set with other vectors."""
        return replace(self, x=x)

    def without_padding(self) -> "Tokens":
        """Give the same set with zeros where no vector is, so that nothing in the padding can leak."""
        if self.keys is None:
            return self
        there = self.keys.valid(self.x.shape[0], self.x.shape[1], self.x.device)
        return self.with_x(self.x.masked_fill(~there[..., None], 0))
