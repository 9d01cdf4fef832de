"""`SequenceTask`: sequences of ids with the classes that some of their places ask for, drawn without end."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor


class Drawn(NamedTuple):
    """Hold drawn sequences.

    Args:
        ids: of the tokens; what lies behind a sequence's length is 0.
        lengths: of the sequences.
        targets: class that each place asks for, `zoo.core.IGNORED` where none is.
    """

    ids: Int[Tensor, "b n"]
    lengths: Int[Tensor, " b"]
    targets: Int[Tensor, "b n"]


@runtime_checkable
class SequenceTask(Protocol):
    """A task whose sequences are drawn without end, so that none is seen twice; what asks comes last.

    A model that reads forwards can solve it as well as one that reads both ways.
    """

    @property
    def words(self) -> tuple[str, ...]:
        """Each token as a user reads it; the place is its id."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Each class as a user reads it; the place is its number."""

    @property
    def length(self) -> int:
        """Tokens of a sequence, at most."""

    def draw(self, count: int, generator: torch.Generator) -> Drawn:
        """Draw sequences; the same generator state gives the same."""

    def shortcuts(self) -> Mapping[str, float]:
        """Give what can be reached without solving it: how, and the accuracy. Guessing is the first."""


def numbered(prefix: str, count: int) -> tuple[str, ...]:
    """Give so many words: `k0`, `k1`, …"""
    return tuple(f"{prefix}{number}" for number in range(count))
