"""What a mechanism of attention can do and what it costs, as data, for tables, studies and tests."""

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable


@dataclass(frozen=True, kw_only=True)
class Abilities:
    """What a mechanism can do; what it cannot, it refuses before any work, with the reason."""

    causal: bool
    """Whether a decoder may use it: no place reads a later one."""
    padding_exact: bool
    """Whether padding changes no answer."""
    any_length: bool
    """Whether a row may be longer than those it was built for."""
    streams: bool
    """Whether it answers step by step with a state of constant size."""
    weights: bool
    """Whether `weights` gives the matrix that `forward` applies to the values."""


@dataclass(frozen=True)
class Cost:
    """What a forward pass of one row takes beyond the projections, in all heads."""

    multiply_adds: int
    """Multiplications, each with its addition."""
    numbers: int
    """Numbers held at once, beyond queries, keys, values and the answer."""


@runtime_checkable
class Mechanism(Protocol):
    """An attention layer that tells what it can do."""

    abilities: ClassVar[Abilities]

    def cost(self, length: int) -> Cost:
        """Count what a row of this length takes, read by itself."""
