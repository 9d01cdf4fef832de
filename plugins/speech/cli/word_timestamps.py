"""Word timestamps: of a complete transcript, and of one that grows with its audio stream.

Axes: n vectors, one for each 40 ms.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Tensor

from zoo.core import Symbols, Transcript
from zoo.plugins.shared.audio.config import TOKEN
from zoo.plugins.shared.audio.ctc_alignment import Aligned

Show = Callable[[Any], list[str]]
"""Turns rows of ids, or the output of `generate`, into texts."""
HALF = "\N{REPLACEMENT CHARACTER}"
"""Text of an incomplete character."""
BYTES = 4
"""Most tokens of a character: one for each byte."""


@dataclass(frozen=True)
class Word:
    """Word with its start and end, in ms from the start of the audio."""

    word: str
    start_ms: int
    end_ms: int


@dataclass(frozen=True)
class PartialTranscript:
    """Increment of a streaming transcript: new text, completed words, and the word that is still incomplete."""

    text: str = ""
    words: tuple[Word, ...] = ()
    open: Word | None = None


class IncrementalDecoder:
    """Incremental detokenizer: token by token into text.

    A piece depends on the piece before it, which is kept: a word has a space before it, and the first has none.

    Args:
        show: turns rows of ids into texts.
    """

    def __init__(self, show: Show) -> None:
        self.show = show
        self.ids: list[int] = []
        self.decoded = 0
        """How many of them are decoded."""

    @property
    def pending(self) -> bool:
        """Whether there are tokens of an incomplete character."""
        return len(self.ids) > self.decoded

    def push(self, token: int) -> str:
        """Return the text of one more token; nothing while a character is incomplete."""
        self.ids.append(token)
        before, text = self.show([self.ids[: self.decoded], self.ids])
        if text == before:  # it has no text
            self.ids.pop()
            return ""
        if text.endswith(HALF):
            return self._give_up() if len(self.ids) - self.decoded == BYTES else ""
        self.ids = self.ids[self.decoded :]
        self.decoded = len(self.ids)
        return text[len(before) :]

    def finish(self) -> str:
        """Return the text of the incomplete character."""
        text = ""
        while self.pending:
            text += self._give_up()
        return text

    def _give_up(self) -> str:
        """Decode the first pending token alone, since it begins no character, and the others again."""
        first, *others = self.ids[self.decoded :]
        self.ids, self.decoded = [], 0
        return "".join([*self.show([[first]]), *map(self.push, others)])


class WordJoiner:
    """Joins pieces of text to words, at white space."""

    def __init__(self) -> None:
        self.open: Word | None = None
        """The incomplete word."""

    def push(self, piece: str, start_ms: int, end_ms: int) -> list[Word]:
        """Return the words that are complete, as white space follows them.

        Args:
            piece: of text.
            start_ms: its start.
            end_ms: its end.
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
        """Return the incomplete word, if there is one."""
        word, self.open = self.open, None
        return [] if word is None else [word]


def words_of(tokens: Sequence[Aligned], show: Show) -> tuple[Word, ...]:
    """Join aligned tokens to words.

    Args:
        tokens: in their order.
        show: turns rows of ids into texts.
    """
    decoder, joiner, words = IncrementalDecoder(show), WordJoiner(), []
    start = end = 0
    for each in tokens:
        start, end = start if decoder.pending else each.start_ms, each.end_ms
        words += joiner.push(decoder.push(each.token), start, end)
    return (*words, *joiner.push(decoder.finish(), start, end), *joiner.finish())


class WordDecoder:
    """Greedy CTC decoding of a stream to text and words with times.

    Args:
        show: turns rows of ids into texts.
        symbols: of the model.
    """

    def __init__(self, show: Show, symbols: Symbols) -> None:
        self.transcript = Transcript(symbols)
        self.decoder = IncrementalDecoder(show)
        self.joiner = WordJoiner()
        self.vectors = 0
        self.start = 0
        """Vector at which the present token or incomplete character begins."""

    def push(self, scores: Float[Tensor, "1 n vocab"]) -> PartialTranscript:
        """Return what is new, from the CTC logits of the vectors that follow."""
        text, words = "", []
        for n in range(scores.shape[1]):
            (new,) = self.transcript.push(scores[:, n : n + 1])
            self.vectors += 1
            if len(new):
                self.start = self.start if self.decoder.pending else self.vectors - 1
                piece = self.decoder.push(int(new))
                text += piece
                words += self._join(piece)
            else:
                self._go_on()
        return PartialTranscript(text, tuple(words), self.joiner.open)

    def finish(self) -> PartialTranscript:
        """Return what remains at the end."""
        piece = self.decoder.finish()
        return PartialTranscript(piece, (*self._join(piece), *self.joiner.finish()))

    def _join(self, piece: str) -> list[Word]:
        return self.joiner.push(piece, TOKEN * self.start, TOKEN * self.vectors)

    def _go_on(self) -> None:
        """Extend the incomplete word as long as its last token is repeated."""
        word, last = self.joiner.open, self.transcript.last
        assert last is not None
        if word is not None and not self.decoder.pending and int(last) != self.transcript.symbols.pad:
            self.joiner.open = Word(word.word, word.start_ms, TOKEN * self.vectors)
