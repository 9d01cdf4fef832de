"""Induction heads, arXiv:2312.00752 sec. 4.1.2: what followed a mark once is asked for where the mark comes again."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from zoo.core import IGNORED
from zoo.data.sequences.task import Drawn, numbered
from zoo.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Induction:
    """Remember the letter behind the mark: `a4 a1 ! a7 a2 … !` asks for a7.

    Args:
        length: tokens, of which the last is the mark again.
        alphabet: letters there are.

    Raises:
        ConfigError: If it is too short for a mark, a letter and the mark again.
    """

    length: int = 64
    alphabet: int = 16

    def __post_init__(self) -> None:
        if self.length < 3:
            raise ConfigError(f"length={self.length}: a mark, a letter and the mark again need 3 tokens")

    @property
    def words(self) -> tuple[str, ...]:
        """See `SequenceTask.words`."""
        return (*self.classes, "!")

    @property
    def classes(self) -> tuple[str, ...]:
        """See `SequenceTask.classes`."""
        return numbered("a", self.alphabet)

    def draw(self, count: int, generator: torch.Generator) -> Drawn:
        """See `SequenceTask.draw`."""
        ids = torch.randint(self.alphabet, (count, self.length), generator=generator)
        place = torch.randint(self.length - 2, (count, 1), generator=generator)
        targets = torch.full_like(ids, IGNORED)
        targets[:, -1:] = ids.gather(1, place + 1)
        ids[:, -1] = self.alphabet
        return Drawn(ids.scatter(1, place, self.alphabet), torch.full((count,), self.length), targets)

    def shortcuts(self) -> Mapping[str, float]:
        """See `SequenceTask.shortcuts`."""
        return {"guessing": 1 / self.alphabet}
