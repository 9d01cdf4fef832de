"""A task that nothing but positions solves: each token asks for the one some places before it."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch.nn.functional import pad

from zoo.core import IGNORED
from zoo.data.sequences import Drawn
from zoo.data.sequences.task import numbered


@dataclass(frozen=True, kw_only=True)
class Offset:
    """Tell the token that stands `back` places before each; a `SequenceTask`.

    Args:
        length: tokens.
        back: places; the first so many tokens ask for nothing.
        symbols: there are.
    """

    length: int = 32
    back: int = 3
    symbols: int = 8

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
        targets = pad(ids, (self.back, 0), value=IGNORED)[:, : self.length]
        return Drawn(ids, torch.full((count,), self.length), targets)

    def shortcuts(self) -> Mapping[str, float]:
        """See `SequenceTask.shortcuts`."""
        return {"guessing": 1 / self.symbols}
