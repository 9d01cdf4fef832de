"""How query and key are compared, where that has parameters (arXiv:1508.04025 sec. 3.1, arXiv:1409.0473 app. A.1.2).

Axes: b rows, h heads, q queries, k keys, d head size, a channels inside.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from zoo.core.errors import InputError


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
    """Score qᵀ W k (arXiv:1508.04025 eq. 8).

    Args:
        w: one matrix for each head.
    """

    w: Float[Tensor, "h d d"]

    def query(self, q: Float[Tensor, "b h q d"]) -> Float[Tensor, "b h q d"]:
        """See `Score.query`.

        Raises:
            InputError: If W is not for so many heads and channels.
        """
        _check_heads(f"General(w of {tuple(self.w.shape)})", self.w, q)
        return q @ self.w.to(q.dtype)

    def scores(self, q: Float[Tensor, "b h q d"], k: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h q k"]:
        """See `Score.scores`."""
        return self.query(q) @ k.mT

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """See `Score.tensors`."""
        return (self.w,)


@dataclass(frozen=True, eq=False)
class Additive(Score):
    """Score v · tanh(W1 q + W2 k) (arXiv:1409.0473 app. A.1.2).

    Args:
        w1: for queries, one matrix for each head.
        w2: for keys.
        v: one vector for each head.

    Raises:
        InputError: If the three differ in heads or channels inside.
    """

    w1: Float[Tensor, "h a d"]
    w2: Float[Tensor, "h a d"]
    v: Float[Tensor, "h a"]

    def __post_init__(self) -> None:
        if not self.w1.shape[:2] == self.w2.shape[:2] == self.v.shape:
            raise InputError(f"{self!r}: heads and channels inside are the same in all three")

    def scores(self, q: Float[Tensor, "b h q d"], k: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h q k"]:
        """See `Score.scores`; keeps queries x keys x a numbers.

        Raises:
            InputError: If the matrices are not for so many heads and channels.
        """
        _check_heads(repr(self), self.w1, q)
        _check_heads(repr(self), self.w2, k)
        w1, w2, v = (x.to(q.dtype) for x in self.tensors)
        inside = (q @ w1.mT)[:, :, :, None] + (k @ w2.mT)[:, :, None]
        return (inside.tanh() @ v[:, None, :, None]).squeeze(-1)

    def __repr__(self) -> str:
        w1, w2, v = (tuple(x.shape) for x in self.tensors)
        return f"Additive(w1 of {w1}, w2 of {w2}, v of {v})"

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """See `Score.tensors`."""
        return self.w1, self.w2, self.v


def _check_heads(shown: str, w: Tensor, x: Tensor) -> None:
    if w.ndim != 3 or w.shape[0] != x.shape[1] or w.shape[2] != x.shape[3]:
        raise InputError(f"{shown} for {x.shape[1]} heads of {x.shape[3]} channels")
