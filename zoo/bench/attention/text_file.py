"""`TextFile`: the next character of a long text of the user's own, as a task on sequences."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from zoo.data.sequences.task import Drawn
from zoo.errors import ConfigError, DataError

TRAINED, VALIDATED = 0.9, 0.95
"""Shares of the text at which training ends and validation ends; the test is what follows."""
UNKNOWN = "\N{REPLACEMENT CHARACTER}"
"""Stands for characters that the training part lacks, and for its rarer ones where it has more than `MOST`."""
MOST = 1000
LENGTH = 256


@dataclass(frozen=True)
class TextFile:
    """Tell the next character at each place of a window of a text; train, validation and test are parts of it in turn.

    A model must not read what comes later, so it has to be causal.

    Args:
        path: of the text, in UTF-8.
        length: characters of a window.
        part: 0 train, 1 validation, 2 test.

    Raises:
        ConfigError: If the length is not positive.
        DataError: If there is no such file, it is no text, or a part of it is no longer than the length.
    """

    path: Path
    length: int = LENGTH
    part: int = 0

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ConfigError(f"length={self.length}: a window has at least one character")
        shortest = min(map(len, self._cut))
        if shortest <= self.length:
            raise DataError(
                f"'{self.path}' has {len(self._text):,} characters, and the test is the last twentieth of them,"
                f" {shortest:,}: windows of {self.length:,} need a text of more than {20 * (self.length + 1):,}; give a"
                " longer text or a smaller length"
            )

    def of_part(self, part: int) -> "TextFile":
        """Give the task on another part."""
        return replace(self, part=part)

    @property
    def content(self) -> str:
        """Change when the data do."""
        return self._text

    @property
    def words(self) -> tuple[str, ...]:
        """See `SequenceTask.words`."""
        return self._alphabet

    @property
    def classes(self) -> tuple[str, ...]:
        """See `SequenceTask.classes`."""
        return self._alphabet

    def draw(self, count: int, generator: torch.Generator) -> Drawn:
        """See `SequenceTask.draw`: windows of this part, which begin anywhere."""
        ids = self._ids[self.part]
        begin = torch.randint(len(ids) - self.length, (count, 1), generator=generator)
        window = ids[begin + torch.arange(self.length + 1)]
        return Drawn(window[:, :-1], torch.full((count,), self.length), window[:, 1:])

    def shortcuts(self) -> Mapping[str, float]:
        """See `SequenceTask.shortcuts`, counted in the training part, reached in the test part."""
        before, after = self._ids[2][:-1], self._ids[2][1:]
        pairs = self._pairs
        return {
            "guessing": 1 / len(self.words),
            "the most frequent character": float((after == pairs.sum(0).argmax()).double().mean()),
            "the one that most often follows": float((after == pairs.argmax(1)[before]).double().mean()),
        }

    def shortcut_bits(self) -> Mapping[str, float]:
        """Give the bits a character of frequencies, counted in the training part and applied to the test part.

        None is 0: single characters are counted once more than they occur, and what follows a character is mixed with
        them, the less the more often that character occurs (Dirichlet's prior with one count for each word).
        """
        before, after = self._ids[2][:-1], self._ids[2][1:]
        single = (self._pairs.sum(0) + 1) / (self._pairs.sum() + len(self.words))
        seen = self._pairs.sum(1, keepdim=True)
        double = (self._pairs + len(self.words) * single) / (seen + len(self.words))
        return {
            "frequencies of characters": float(-single[after].log2().mean()),
            "frequencies of pairs": float(-double[before, after].log2().mean()),
        }

    @cached_property
    def _text(self) -> str:
        try:
            return self.path.read_text("utf-8")
        except OSError as error:
            raise DataError(f"text:{self.path}: {error.strerror}; give the path of a text") from error
        except UnicodeDecodeError as error:
            raise DataError(f"'{self.path}' is no text in UTF-8: byte {error.start:,} is none of it") from error

    @property
    def _cut(self) -> tuple[str, str, str]:
        first, second = (int(share * len(self._text)) for share in (TRAINED, VALIDATED))
        return self._text[:first], self._text[first:second], self._text[second:]

    @cached_property
    def _alphabet(self) -> tuple[str, ...]:
        frequent = Counter(self._cut[0].replace(UNKNOWN, "")).most_common(MOST)
        return UNKNOWN, *sorted(character for character, _ in frequent)

    @cached_property
    def _ids(self) -> tuple[Tensor, Tensor, Tensor]:
        places = {character: place for place, character in enumerate(self._alphabet)}
        train, validation, test = (torch.tensor([places.get(c, 0) for c in part]) for part in self._cut)
        return train, validation, test

    @cached_property
    def _pairs(self) -> Tensor:
        """Count what follows what in the training part (first, second)."""
        ids, size = self._ids[0], len(self.words)
        return torch.bincount(ids[:-1] * size + ids[1:], minlength=size**2).view(size, size).double()
