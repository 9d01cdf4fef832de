"""How query and key are compared, where that has parameters (arXiv:1508.04025 sec. 3.1, arXiv:1409.0473 app. A.1.2).

Axes: b rows, h heads, q queries, k keys, d head size, a channels inside.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


class Score(ABC):
    """Compare every query with every key."""

    def query(self, q: Float[Tensor, "b h q d"]) -> Float[Tensor, "b h q d"] | None:
        """Give queries whose product with the keys is this score; None if there are none."""
        return None

    @abstractmethod
    def scores(self, q: Float[Tensor, "b h q d"], k: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h q k"]:
        """Give the score of each pair; it is not scaled."""

    @property
    @abstractmethod
    def tensors(self) -> tuple[Tensor, ...]:
        """Tensors that may need a gradient."""


@dataclass(frozen=True, eq=False)
class General(Score):
    """Score qᵀ W k.

    Args:
        w: one matrix for each head.
    """

    w: Float[Tensor, "h d d"]

    def query(self, q: Float[Tensor, "b h q d"]) -> Float[Tensor, "b h q d"]:
        """See `Score.query`."""
        return q @ self.w

    def scores(self, q: Float[Tensor, "b h q d"], k: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h q k"]:
        """See `Score.scores`."""
        return self.query(q) @ k.mT

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """See `Score.tensors`."""
        return (self.w,)


@dataclass(frozen=True, eq=False)
class Additive(Score):
    """Score v · tanh(W1 q + W2 k).

    Args:
        w1: for queries, one matrix for each head.
        w2: for keys.
        v: one vector for each head.
    """

    w1: Float[Tensor, "h a d"]
    w2: Float[Tensor, "h a d"]
    v: Float[Tensor, "h a"]

    def scores(self, q: Float[Tensor, "b h q d"], k: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h q k"]:
        """See `Score.scores`; keeps queries x keys x a numbers."""
        inside = (q @ self.w1.mT)[:, :, :, None] + (k @ self.w2.mT)[:, :, None]
        return (inside.tanh() * self.v[:, None, None]).sum(-1)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """See `Score.tensors`."""
        return self.w1, self.w2, self.v
