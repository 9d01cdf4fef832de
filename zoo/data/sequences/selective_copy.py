"""Selective copying, arXiv:2312.00752 sec. 3.1: letters among noise are to be written in their order."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from zoo.core import IGNORED
from zoo.data.sequences.task import Drawn, numbered
from zoo.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class SelectiveCopy:
    """Copy letters that lie anywhere in noise: `. b . . a . ? ?` asks for b, then a.

    Args:
        letters: to be copied, of each sequence.
        length: tokens, of which the last `letters` ask.
        alphabet: letters there are.

    Raises:
        ConfigError: If they do not fit in the length.
    """

    letters: int = 8
    length: int = 64
    alphabet: int = 16

    def __post_init__(self) -> None:
        if self.letters < 1 or 2 * self.letters > self.length:
            raise ConfigError(
                f"letters={self.letters}, length={self.length}: each takes a place, and a place that asks for it"
            )

    @property
    def words(self) -> tuple[str, ...]:
        """See `SequenceTask.words`."""
        return (*self.classes, ".", "?")

    @property
    def classes(self) -> tuple[str, ...]:
        """See `SequenceTask.classes`."""
        return numbered("a", self.alphabet)

    def draw(self, count: int, generator: torch.Generator) -> Drawn:
        """See `SequenceTask.draw`."""
        noise = self.length - self.letters
        places = torch.rand(count, noise, generator=generator).argsort(1)[:, : self.letters].sort(1).values
        letters = torch.randint(self.alphabet, (count, self.letters), generator=generator)
        ids = torch.full((count, self.length), self.alphabet).scatter(1, places, letters)
        ids[:, noise:] = self.alphabet + 1
        targets = torch.full_like(ids, IGNORED)
        targets[:, noise:] = letters
        return Drawn(ids, torch.full((count,), self.length), targets)

    def shortcuts(self) -> Mapping[str, float]:
        """See `SequenceTask.shortcuts`."""
        return {"guessing": 1 / self.alphabet}
