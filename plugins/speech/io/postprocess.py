"""`Postprocess`: from the outputs of speech models to labels or transcripts."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from zoo import InputError, WeightsError
from zoo.data import labels_of, names_for, ranked
from zoo.plugins.shared.audio.config import token_ms
from zoo.plugins.shared.audio.lengths import count_vectors
from zoo.plugins.shared.text.ctc_labels import ctc_labels
from zoo.plugins.speech.io.preprocess import Preprocess
from zoo.plugins.speech.sources import TOKENIZERS
from zoo.registry import require
from zoo.weights import fetch_tokenizer, has_bytes

if TYPE_CHECKING:
    from zoo.plugins.shared.text.tokenizer import Tokenizer


class Postprocess:
    """Turn a model's output into labels or text.

    Args:
        config: of the model; `repository` says where its tokenizer.json or labels.json lies.

    Raises:
        MissingLibraryError: If tokenizers is not installed.
        WeightsError: If the names of labels are not as many as the model has.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        require("reading answers to sounds", (TOKENIZERS,))
        self.config = dict(config)
        self.labels = labels_of(config)

    @cached_property
    def tokenizer(self) -> "Tokenizer":
        """The tokenizer of the model's weights, or of its labels; that of bytes where neither is named or needed.

        Raises:
            WeightsError: If the weights come without a vocabulary.
            ConfigError: If its vocabulary is larger than the model's.
        """
        from zoo.plugins.shared.text.tokenizer import Tokenizer

        where, wanted = self.config.get("repository"), self.config.get("vocab_size")
        if where and (path := fetch_tokenizer(where)):
            return Tokenizer.load(path).of_model(wanted, where)
        told = self.config if self.config.get("labels") else ctc_labels(where) if where else {}
        if told:
            return Tokenizer.of_labels(told["labels"], told.get("blank", 0))
        if where and not has_bytes(where, wanted):
            raise WeightsError(f"{where!r} has neither a tokenizer.json nor a vocab.json: its weights write no text")
        return Tokenizer.byte_level().of_model(wanted, "bytes")

    def __call__(self, answer: Any, sounds: Sequence[Any] | None = None) -> list[Any]:
        """Give texts for what was written, labels with probabilities for sounds, or one for each vector.

        Args:
            answer: what `generate` gave, rows of ids, or scores (batch, labels) or (batch, vectors, labels).
            sounds: what was given to `preprocess`, for labels of vectors: those behind the end of a sound are left out.

        Raises:
            InputError: If the answer is none of these.
        """
        if hasattr(answer, "best"):
            return self.tokenizer.transcripts(answer.best())
        if isinstance(answer, list) or not answer.is_floating_point():
            return self.tokenizer.decode_batch([self.tokenizer.until_end(row) for row in answer])
        if not answer.numel() or answer.ndim not in (2, 3):
            raise InputError(f"an answer of shape {tuple(answer.shape)} is neither one of labels nor of ids")
        names = names_for(self.labels, answer.shape[-1], self.config)
        if answer.ndim == 2:
            return [ranked(row, names) for row in answer.float().softmax(-1)]
        counts = [answer.shape[1]] * len(answer) if sounds is None else vectors_of(sounds, token_ms(self.config))
        best = answer.argmax(-1).tolist()
        return [[names[place] for place in row[:count]] for row, count in zip(best, counts, strict=True)]


def vectors_of(sounds: Sequence[Any], milliseconds: int) -> list[int]:
    """Count the vectors that a model makes of sounds.

    Args:
        sounds: as for `Preprocess`.
        milliseconds: from vector to vector.
    """
    _, lengths = Preprocess()(list(sounds))
    return count_vectors(lengths, milliseconds).tolist()
