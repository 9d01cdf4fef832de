"""`Bias`, base class of attention biases, and dense biases; see also `zoo.core.scoring.relative_bias`.

A bias is a value that holds tensors; the modules that learn them are in `zoo.core.positions.attention_position`.
Axes: b rows, h heads, q queries, k keys, o offsets, d, e head sizes; # may be 1.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float, Int
from torch import Tensor


class Bias(ABC):
    """Add something to the scores."""

    kind: ClassVar[str]
    """What a backend has to understand: `dense`, `relative` or `edges`."""
    adds_values: bool = False
    """Whether `values` gives something."""

    def query(self, q: Float[Tensor, "b h q d"]) -> Float[Tensor, "b h q d"]:
        """Give the queries that meet the keys."""
        return q

    @abstractmethod
    def scores(
        self, q: Float[Tensor, "b h q d"], i: Int[Tensor, "#b q"], j: Int[Tensor, "#b k"], scale: float
    ) -> Float[Tensor, "#b #h #q #k"]:
        """Give what is added to the scaled scores.

        Args:
            q: queries.
            i: positions of the queries.
            j: positions of the keys.
            scale: of the scores.
        """

    def values(self, lowest: int, highest: int) -> Float[Tensor, "#h o e"] | None:
        """Give what is added to the value of a key by its offset from the query; None for nothing."""
        return None

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Tensors that may need a gradient."""
        return ()


@dataclass(frozen=True, eq=False)
class Dense(Bias):
    """Add a tensor."""

    kind = "dense"
    added: Float[Tensor, "#b #h #q #k"]

    def scores(
        self, q: Float[Tensor, "b h q d"], i: Int[Tensor, "#b q"], j: Int[Tensor, "#b k"], scale: float
    ) -> Float[Tensor, "#b #h #q #k"]:
        return self.added

    def queries(self, first: int, last: int) -> "Dense":
        """Give the bias of the queries from `first` up to `last`."""
        return Dense(self.added[:, :, first:last]) if self.added.shape[2] > 1 else self

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return (self.added,)
