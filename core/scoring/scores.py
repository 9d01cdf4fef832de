"""Learned attention scores: bilinear, additive and LeakyReLU (arXiv:1508.04025 sec. 3.1, arXiv:1409.0473 app. A.1.2).

On graphs: arXiv:1710.10903 eq. 3 and arXiv:2105.14491 eq. 7.
Axes: b rows, h heads, q queries, k keys, d head size, a channels inside.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import leaky_relu

from zoo.core.errors import InputError


class Score(ABC):
    """Compare every query with every key."""

    def query(self, q: Float[Tensor, "b h q d"]) -> Float[Tensor, "b h q d"] | None:
        """Give queries whose product with the keys is this score; None if there are none."""
        return None

    @abstractmethod
    def compare(self, q: Float[Tensor, "b h *q d"], k: Float[Tensor, "b h *k d"]) -> Float[Tensor, "b h *qk"]:
        """Give the score of each query with the key in the same place, where they broadcast; it is not scaled."""

    def scores(self, q: Float[Tensor, "b h q d"], k: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h q k"]:
        """Give the score of each pair."""
        return self.compare(q[:, :, :, None], k[:, :, None])

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

    def compare(self, q: Float[Tensor, "b h *q d"], k: Float[Tensor, "b h *k d"]) -> Float[Tensor, "b h *qk"]:
        return (torch.einsum("bh...d,hde->bh...e", q, self.w.to(q.dtype)) * k).sum(-1)

    def scores(self, q: Float[Tensor, "b h q d"], k: Float[Tensor, "b h k d"]) -> Float[Tensor, "b h q k"]:
        return self.query(q) @ k.mT

    @property
    def tensors(self) -> tuple[Tensor, ...]:
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

    def compare(self, q: Float[Tensor, "b h *q d"], k: Float[Tensor, "b h *k d"]) -> Float[Tensor, "b h *qk"]:
        """See `Score.compare`; of all pairs it keeps queries x keys x a numbers.

        Raises:
            InputError: If the matrices are not for so many heads and channels.
        """
        _check_heads(repr(self), self.w1, q)
        _check_heads(repr(self), self.w2, k)
        w1, w2, v = (x.to(q.dtype) for x in self.tensors)
        inside = torch.einsum("bh...d,had->bh...a", q, w1) + torch.einsum("bh...d,had->bh...a", k, w2)
        return torch.einsum("bh...a,ha->bh...", inside.tanh(), v)

    def __repr__(self) -> str:
        w1, w2, v = (tuple(x.shape) for x in self.tensors)
        return f"Additive(w1 of {w1}, w2 of {w2}, v of {v})"

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self.w1, self.w2, self.v


@dataclass(frozen=True, eq=False)
class LeakySum(Score):
    """Score v · LeakyReLU(q + k): GATv2's, arXiv:2105.14491 eq. 7, with the projections of eq. 7 in q and k.

    With one channel and without v it is GAT's, arXiv:1710.10903 eq. 3, whose inner product splits into a number of the
    query and a number of the key.

    Args:
        v: one vector for each head; None for ones.
        slope: of LeakyReLU below 0.
    """

    v: Float[Tensor, "h d"] | None = None
    slope: float = 0.2

    def compare(self, q: Float[Tensor, "b h *q d"], k: Float[Tensor, "b h *k d"]) -> Float[Tensor, "b h *qk"]:
        """See `Score.compare`; of all pairs it keeps queries x keys x d numbers.

        Raises:
            InputError: If `v` is not for so many heads and channels.
        """
        self.fit(q)
        inside = leaky_relu(q + k, self.slope)
        return inside.sum(-1) if self.v is None else torch.einsum("bh...d,hd->bh...", inside, self.v.to(q.dtype))

    def fit(self, q: Float[Tensor, "b h *q d"]) -> None:
        """Refuse heads or channels other than those of `v`.

        Raises:
            InputError: If these are others.
        """
        if self.v is not None and self.v.shape != (q.shape[1], q.shape[-1]):
            raise InputError(f"{self!r} for {q.shape[1]} heads of {q.shape[-1]} channels")

    def __repr__(self) -> str:
        shown = "None" if self.v is None else f"of {tuple(self.v.shape)}"
        return f"LeakySum(v {shown}, slope={self.slope})"

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return () if self.v is None else (self.v,)


def _check_heads(shown: str, w: Tensor, x: Tensor) -> None:
    if w.ndim != 3 or w.shape[0] != x.shape[1] or w.shape[2] != x.shape[-1]:
        raise InputError(f"{shown} for {x.shape[1]} heads of {x.shape[-1]} channels")
