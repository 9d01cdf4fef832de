"""A local task: each token asks for the sum of the two before it, and nothing farther away matters."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from zoo.data.sequences.task import Drawn, numbered


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Add the two tokens before each, modulo the number of symbols; before the first there are zeros.

    Args:
        length: tokens.
        symbols: there are.
    """

    length: int = 64
    symbols: int = 4

    @property
    def words(self) -> tuple[str, ...]:
        """See `SequenceTask.words`."""
        return self.classes

    @property
    def classes(self) -> tuple[str, ...]:
        """See `SequenceTask.classes`."""
        return numbered("", self.symbols)

    def draw(self, count: int, generator: torch.Generator) -> Drawn:
        """See `SequenceTask.draw`."""
        ids = torch.randint(self.symbols, (count, self.length), generator=generator)
        before = torch.nn.functional.pad(ids, (2, 0))
        targets = (before[:, 1:-1] + before[:, :-2]) % self.symbols
        return Drawn(ids, torch.full((count,), self.length), targets)

    def shortcuts(self) -> Mapping[str, float]:
        """See `SequenceTask.shortcuts`."""
        return {"guessing": 1 / self.symbols}
