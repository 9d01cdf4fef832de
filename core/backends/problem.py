"""What a backend is asked: the problem to plan for, and the call to compute.

Axes: b batch, q queries, k keys, h heads, g heads of keys and values (h is a multiple), d, e head sizes, r b or 1.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.errors import InputError
from zoo.core.pattern import Full, Pattern


@dataclass(frozen=True)
class Problem:
    """Describe one use of attention by its shapes and needs, without its numbers."""

    pattern: Pattern
    batch: int
    queries: int
    keys: int
    heads: int
    head_dim: int
    value_dim: int
    dtype: torch.dtype
    device: str
    grad: bool
    padded: bool = False
    bias: bool = False
    score: str = "scaled_dot"
    dropout: float = 0.0
    weights: bool = False


@dataclass(frozen=True)
class Cost:
    """Predict what a backend spends on a problem.

    Args:
        flops: floating-point operations of the two products, a multiply-add counted as two.
        bytes: inputs and outputs, and what is stored between them.
    """

    flops: int
    bytes: int
    why: str


@dataclass(frozen=True)
class Call:
    """Carry the tensors of one call; padding in `k` and `v` is zero already, so that NaN there cannot leak."""

    q: Float[Tensor, "b h q d"]
    k: Float[Tensor, "b g k d"]
    v: Float[Tensor, "b g k e"]
    pattern: Pattern
    start: Int[Tensor, " r"] | int
    """Position of the first query, one for all rows or one for each."""
    valid: Bool[Tensor, "b k"] | None
    bias: Float[Tensor, "#b #h #q #k"] | None
    scale: float
    dropout: float

    def mask(self) -> Bool[Tensor, "#b #h #q k"] | None:
        """Give pattern and padding as one tensor; None where everything may be read."""
        there = None if self.valid is None else self.valid[:, None, None]
        if self.pattern == Full():
            return there
        steps = torch.arange(self.q.shape[2], device=self.q.device)
        queries = steps[None] + (self.start if isinstance(self.start, int) else self.start[:, None])
        allowed = self.pattern.mask(queries, torch.arange(self.k.shape[2], device=self.q.device))
        rows, heads = self.q.shape[:2]
        if allowed.shape[0] not in (1, rows) or allowed.shape[1] not in (1, heads):
            got = f"{allowed.shape[0]} rows and {allowed.shape[1]} heads"
            raise InputError(f"a mask of {got} for a batch of {rows} with {heads} heads")
        return allowed if there is None else allowed & there


@runtime_checkable
class Backend(Protocol):
    """Compute attention in one way."""

    name: str

    def refuses(self, problem: Problem) -> str | None:
        """Say why this backend cannot serve the problem; None if it can."""

    def cost(self, problem: Problem) -> Cost:
        """Predict what serving the problem costs."""

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """Compute the answer, and the weights where the backend has them."""
