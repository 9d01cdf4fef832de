"""Words and when they were said: of a transcript that is whole, and of one that grows while its sound comes.

Axes: n vectors, one for each 40 ms.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Tensor

from zoo.core.generation.ctc_streaming import Transcript
from zoo.core.special_tokens import Symbols
from zoo.plugins.shared.audio.ctc_alignment import Aligned
from zoo.plugins.shared.audio.frame_stem import TOKEN

Show = Callable[[Any], list[str]]
"""Turns rows of ids, or what `generate` gave, into texts."""
HALF = "\N{REPLACEMENT CHARACTER}"
"""What the bytes of half a character are shown as."""
BYTES = 4
"""Most tokens of a character: one for each byte."""


@dataclass(frozen=True)
class Word:
    """Say when a word was said, in ms from the begin of the sound."""

    word: str
    start_ms: int
    end_ms: int


@dataclass(frozen=True)
class Said:
    """Hold what is new: text, the words that are complete, and the one that may go on."""

    text: str = ""
    words: tuple[Word, ...] = ()
    open: Word | None = None


class Spelling:
    """Turn tokens into text one by one: of what was spelled, only the tokens of the last piece are kept.

    Pieces depend on what stands before them, as a word has a space before it and the first has none.

    Args:
        show: turns rows of ids into texts.
    """

    def __init__(self, show: Show) -> None:
        self.show = show
        self.ids: list[int] = []
        self.told = 0
        """How many of them are spelled."""

    @property
    def waits(self) -> bool:
        """Whether there are tokens that are half a character."""
        return len(self.ids) > self.told

    def push(self, token: int) -> str:
        """Give the text of one more token; nothing while it is half a character."""
        self.ids.append(token)
        before, text = self.show([self.ids[: self.told], self.ids])
        if text == before:  # it says nothing
            self.ids.pop()
            return ""
        if text.endswith(HALF):
            return self._give_up() if len(self.ids) - self.told == BYTES else ""
        self.ids = self.ids[self.told :]
        self.told = len(self.ids)
        return text[len(before) :]

    def finish(self) -> str:
        """Give the text of what waits."""
        text = ""
        while self.waits:
            text += self._give_up()
        return text

    def _give_up(self) -> str:
        """Give the first token that waits as it is shown alone, since it begins no character, and the others anew."""
        first, *others = self.ids[self.told :]
        self.ids, self.told = [], 0
        return "".join([*self.show([[first]]), *map(self.push, others)])


class Joining:
    """Join pieces of text to words; what stands between words belongs to none."""

    def __init__(self) -> None:
        self.open: Word | None = None
        """The word that may go on."""

    def push(self, piece: str, start_ms: int, end_ms: int) -> list[Word]:
        """Give the words that are complete, as white space is behind them.

        Args:
            piece: what follows.
            start_ms: when it begins.
            end_ms: when it ends.
        """
        complete = []
        for part in re.findall(r"\s+|\S+", piece):
            if not part.isspace():
                word, begun = ("", start_ms) if self.open is None else (self.open.word, self.open.start_ms)
                self.open = Word(word + part, begun, end_ms)
            else:
                complete += self.finish()
        return complete

    def finish(self) -> list[Word]:
        """Give the word that was open, if there is one."""
        word, self.open = self.open, None
        return [] if word is None else [word]


def words_of(tokens: Sequence[Aligned], show: Show) -> tuple[Word, ...]:
    """Join tokens to the words they write.

    Args:
        tokens: in their order.
        show: turns rows of ids into texts.
    """
    spelling, joining, words = Spelling(show), Joining(), []
    start = end = 0
    for each in tokens:
        start, end = start if spelling.waits else each.start_ms, each.end_ms
        words += joining.push(spelling.push(each.token), start, end)
    return (*words, *joining.push(spelling.finish(), start, end), *joining.finish())


class Spoken:
    """Follow what the vectors of a sound emit: `Transcript`, as text and words.

    Args:
        show: turns rows of ids into texts.
        symbols: of the model.
    """

    def __init__(self, show: Show, symbols: Symbols) -> None:
        self.transcript = Transcript(symbols)
        self.spelling = Spelling(show)
        self.joining = Joining()
        self.vectors = 0
        self.start = 0
        """Where the token, or the half character, began that is spelled now."""

    def push(self, scores: Float[Tensor, "1 n vocab"]) -> Said:
        """Say what is new in the scores of vectors that follow."""
        text, words = "", []
        for n in range(scores.shape[1]):
            (new,) = self.transcript.push(scores[:, n : n + 1])
            self.vectors += 1
            if len(new):
                self.start = self.start if self.spelling.waits else self.vectors - 1
                piece = self.spelling.push(int(new))
                text += piece
                words += self._join(piece)
            else:
                self._go_on()
        return Said(text, tuple(words), self.joining.open)

    def finish(self) -> Said:
        """Say what remains."""
        piece = self.spelling.finish()
        return Said(piece, (*self._join(piece), *self.joining.finish()))

    def _join(self, piece: str) -> list[Word]:
        return self.joining.push(piece, TOKEN * self.start, TOKEN * self.vectors)

    def _go_on(self) -> None:
        """Let the open word last as long as its end is emitted."""
        word, last = self.joining.open, self.transcript.last
        assert last is not None
        if word is not None and not self.spelling.waits and int(last) != self.transcript.symbols.pad:
            self.joining.open = Word(word.word, word.start_ms, TOKEN * self.vectors)
