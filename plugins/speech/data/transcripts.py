"""`TranscriptsCorpus`: audio with transcripts for speech recognition, and checks of which of them can be learned.

Axes: b sounds, n tokens.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int64
from torch import nn

from zoo import ConfigError, ModelSpec
from zoo.core import IGNORED, SYMBOLS, Symbols
from zoo.data import Batch, DatasetInfo, RaggedIds, Written, evaluation_mode, offsets_of, read_ahead
from zoo.plugins.shared.audio.config import TOKEN, token_ms
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.shared.text.tokenizer import Frame, Tokenizer, pad_rows
from zoo.plugins.speech.data.corpus import FRAME, UNCHANGED, Augmentation, SoundCorpus, Sounds
from zoo.plugins.speech.data.error_rates import character_error_rate, word_error_rate
from zoo.plugins.speech.io.preprocess import RATE

_AT_ONCE = 10_000
"""Texts that are tokenized together."""
_LONGER = 2
"""Times the longest transcript of the training that a model may write."""


class Transcription(NamedTuple):
    """A transcript that a model wrote, and its reference."""

    text: str
    wanted: str


@runtime_checkable
class Cells(Protocol):
    """Cells of columns, by rows: those of a table, or of the index of recordings."""

    def cell(self, column: str, row: int) -> Any:
        """Read a cell."""


class Texts(Sequence[str]):
    """Texts of some rows, read when they are needed, in words with one space between.

    Args:
        cells: hold them.
        column: of the texts.
        rows: of these.
    """

    def __init__(self, cells: Cells, column: str, rows: Int64[np.ndarray, " k"]) -> None:
        self._cells, self._column, self._rows = cells, column, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: Any) -> Any:
        """Give a text, or those of a slice."""
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        return " ".join((self._cells.cell(self._column, int(self._rows[place])) or "").split())


class TranscriptsCorpus(SoundCorpus):
    """Serve sounds with their transcripts: sounds, lengths and the text shifted by one, to write the text.

    Args:
        about: the data.
        spec: of the model.
        tokenizer: of the transcripts; it is saved beside the model.
        sounds: of each part.
        texts: said in them.
        augmentation: of the sounds.

    Raises:
        ConfigError: If padding, begin and end of the vocabulary are not 0, 1 and 2, it has none and the model does not
            do without, or the model reads no sounds.
    """

    task = "generate"
    metric = "-word error rate"
    smooth = ("-character error rate",)
    units = ""
    tokenizer: Tokenizer

    def __init__(
        self,
        about: DatasetInfo,
        spec: ModelSpec,
        tokenizer: Tokenizer,
        sounds: Mapping[str, Sounds],
        texts: Mapping[str, Sequence[str]],
        augmentation: Augmentation = UNCHANGED,
    ) -> None:
        super().__init__(about, spec, sounds, augmentation)
        check_reads_sound(about, spec)
        check_symbols(tokenizer, spec)
        self.tokenizer = tokenizer
        self.rows = {split: _encoded(part, tokenizer) for split, part in texts.items()}
        self.texts = texts

    def overrides(self) -> dict[str, Any]:
        """Give the keywords for `zoo.create` that fit a model to the data, its labels among them."""
        labels = self.tokenizer.labels
        if "symbols" in self.spec.config:
            own = Symbols(self.tokenizer.pad, self.tokenizer.bos, self.tokenizer.eos)
            return super().overrides() | {"symbols": list(own)}
        if not labels and "labels" not in self.spec.config:
            return super().overrides()
        return super().overrides() | {"labels": labels, "blank": self.tokenizer.pad}

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """Give sounds, lengths and transcripts from the begin; and transcripts to the end."""
        rows = [self.rows[split][place] for place in places]
        shifted, _ = pad_rows([row[:-1] for row in rows], self.tokenizer.pad)
        target, _ = pad_rows([row[1:] for row in rows], IGNORED)
        return Batch((*self.heard(split, places, generator), shifted), target)

    def least(self, split: str, place: int) -> int:
        """Say how many samples are needed to write the transcript, if each vector writes a token."""
        return samples_for(self.rows[split][place][1:-1], token_ms(self.spec.config))

    def write(self, model: Any, split: str, batch_size: int) -> list[Transcription]:
        """Transcribe the sounds of a split by greedy search."""
        return [Transcription(each.text, *each.wanted) for each in self.written(model, split, batch_size)]

    def written(self, model: Any, split: str, batch_size: int) -> Iterator[Written]:
        """See `WritesTexts.written`: transcripts, by greedy search."""
        most = _LONGER * int(self.rows["train"].lengths.max())
        with evaluation_mode(model) as device:
            calls = ((split, places) for places in self.places(split, batch_size))
            for places, batch in read_ahead(self.readable, calls):
                if batch is None:
                    continue
                sounds, lengths, _ = batch.inputs
                best = model.generate(sounds.to(device), lengths.to(device), max_len=most).best()
                wanted = as_written([self.texts[split][place] for place in places], self.tokenizer)
                for place, text, said in zip(places, self.tokenizer.transcripts(best), wanted, strict=True):
                    yield Written(place, text, (said,))

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Give the error rates of words and of characters, turned round; and the share of texts without an error."""
        written, wanted = zip(*self.write(model, split, batch_size), strict=True)
        right = sum(one.split() == other.split() for one, other in zip(written, wanted, strict=True))
        return {
            "-word error rate": -word_error_rate(written, wanted),
            "-character error rate": -character_error_rate(written, wanted),
            "exact match": right / len(wanted),
        }

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        return ("-word error rate", "-character error rate", "exact match")


def check_reads_sound(about: DatasetInfo, spec: ModelSpec) -> None:
    """Check that a model reads audio.

    Raises:
        ConfigError: If it does.
    """
    if spec.reads not in ("", "sound"):
        raise ConfigError(f"'{about.name}' are sounds to be written down, and '{spec.name}' reads no sounds")


def check_symbols(tokenizer: Tokenizer, spec: ModelSpec) -> None:
    """Check that the special tokens of a vocabulary are those that a speech model expects.

    Raises:
        ConfigError: If they are not.
    """
    symbols = Symbols(tokenizer.pad, tokenizer.bos, tokenizer.eos)
    if tokenizer.labels:
        if spec.config.get("by") != "ctc":
            raise ConfigError(
                f"a vocabulary of CTC labels, without begin and end, for by={spec.config.get('by')!r} of the model: "
                "write tokenizer='char', or make the model with by='ctc'"
            )
    elif symbols != SYMBOLS and "symbols" not in spec.config:
        raise ConfigError(
            f"a vocabulary with padding, begin and end at {', '.join(map(str, symbols))}: models of speech expect "
            f"{', '.join(map(str, SYMBOLS))}, as those of tokenizer='char', 'word', 'byte' or 'bpe:1000'"
        )


def tokenizer_for(name: str, default: str, texts: Sequence[str], spec: ModelSpec) -> Tokenizer:
    """Make or read the tokenizer of transcripts: the named one, else that of the labels of the model's weights.

    Args:
        name: as for `choose_tokenizer`; empty for none.
        default: the same, where the weights have no labels.
        texts: of the training.
        spec: of the model.

    Raises:
        ConfigError: If there is no such tokenizer, or it does not fit the model.
    """
    labels = spec.config.get("labels")
    if labels and not name and spec.config.get("by") == "ctc":
        return Tokenizer.of_labels(labels, spec.config.get("blank", 0))
    tokenizer = choose_tokenizer(name, default, texts)
    check_symbols(tokenizer, spec)
    return tokenizer


def as_written(texts: Sequence[str], tokenizer: Tokenizer) -> Sequence[str]:
    """Give texts as a model writes them: in the case of its labels, where it has such."""
    return tokenizer.transcripts(_rows(texts, tokenizer)) if tokenizer.labels else texts


def _encoded(texts: Sequence[str], tokenizer: Tokenizer) -> RaggedIds:
    """Give the tokens of texts, from begin to end, as one array."""
    frame = Frame((tokenizer.bos,), (tokenizer.eos,))
    some = [tokenizer.ragged(texts[start : start + _AT_ONCE], frame) for start in range(0, len(texts), _AT_ONCE)]
    return RaggedIds.of(
        np.concatenate([rows.flat for rows in some]),
        offsets_of(np.concatenate([np.diff(rows.offsets) for rows in some])),
    )


def vectors_for(row: Sequence[int]) -> int:
    """Count the vectors that CTC needs for some tokens: one for each, and one between two that are the same."""
    return len(row) + sum(one == other for one, other in pairwise(row))


def samples_for(row: Sequence[int], milliseconds: int = TOKEN) -> int:
    """Count the samples of so many vectors, so many milliseconds apart."""
    return FRAME + RATE * milliseconds // 1000 * (max(vectors_for(row), 1) - 1)


def fault(text: str, samples: int, tokenizer: Tokenizer, aligned: bool, milliseconds: int = TOKEN) -> str:
    """Say why a model cannot learn a transcript; an empty string if it can.

    Args:
        text: that is said.
        samples: of the sound.
        tokenizer: of the model.
        aligned: whether the model writes at most a token with each vector, as CTC does.
        milliseconds: from vector to vector.
    """
    if not text.strip():
        return "its transcript is empty"
    (row,) = _rows([text], tokenizer)
    if not row:
        return f"{text!r} has no tokens"
    if tokenizer.symbols.intersection(row):
        return f"not in the vocabulary: {', '.join(map(repr, _unknown(text, tokenizer)))}"
    needed, available = vectors_for(row), 1 + (samples - FRAME) // (RATE * milliseconds // 1000)
    if aligned and needed > available:
        return (
            f"{len(row)} tokens need {needed} vectors, {samples / RATE:.2f} s have {available}: CTC writes one "
            f"with each {milliseconds} ms, and parts equal ones"
        )
    return ""


def _unknown(text: str, tokenizer: Tokenizer) -> list[str]:
    """List the words that are unknown; or the characters, where a word is several tokens and some are."""
    words = text.split()
    whole = all(len(row) <= 1 for row in _rows(words, tokenizer))
    return _strange(words if whole else text, tokenizer) or _strange(words, tokenizer)


def _strange(units: Iterable[str], tokenizer: Tokenizer) -> list[str]:
    found = list(dict.fromkeys(units))
    rows = _rows(found, tokenizer)
    return [unit for unit, row in zip(found, rows, strict=True) if tokenizer.symbols.intersection(row)]


def _rows(texts: Sequence[str], tokenizer: Tokenizer) -> list[list[int]]:
    """Give the tokens of each text, also of one that has none."""
    return [row[1:] for row in tokenizer.rows(texts, Frame((tokenizer.bos,)))]
