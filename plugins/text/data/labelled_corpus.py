"""`LabelledCorpus` and `TaggedCorpus`: texts with a label each, and sentences with a label for each word."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from zoo import ConfigError, DataError, ModelSpec
from zoo.core import IGNORED
from zoo.data import Batch, DatasetInfo, Parts, RaggedIds, evaluation_mode, token_scores
from zoo.plugins.shared.text.tokenizer import Frame, Tokenizer, pad_rows
from zoo.plugins.text.data.corpus import TextCorpus, check_lengths
from zoo.plugins.text.data.file_readers import Sentence
from zoo.plugins.text.data.text_stream import TextStream, encoded
from zoo.plugins.text.io.preprocess import frame_of, limit_of


class Labelled(NamedTuple):
    """Hold a text, its label, and where they are from."""

    text: str
    label: str
    place: str = ""


class _Labels(TextCorpus):
    """Score what both corpora ask."""

    metric = "accuracy"

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Give the share of labels, of texts or of words, that the model ranks first, and the loss."""
        with evaluation_mode(model) as device:
            found = token_scores(model, self.held_out(split, batch_size), device)
        return {"accuracy": found.accuracy, "loss": found.loss}

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        return ("accuracy", "loss")


class LabelledCorpus(_Labels):
    """Serve texts with a label each to an encoder.

    Args:
        about: the data.
        spec: of the model.
        tokenizer: of the texts.
        parts: the texts.
        labels: their names; the place in the list is the class.

    Raises:
        ConfigError: If the model is no encoder.
        DataError: If a text is longer than the model reads, or a label is not among the names.
    """

    task = "classify"

    def __init__(
        self,
        about: DatasetInfo,
        spec: ModelSpec,
        tokenizer: Tokenizer,
        parts: Parts[Labelled] | TextStream[Labelled],
        labels: Sequence[str],
    ) -> None:
        tokenizer, frame = framed(about, spec, tokenizer)
        classes = {label: number for number, label in enumerate(labels)}
        limit = limit_of(spec.config)

        def encode(split: str, examples: Sequence[Labelled]) -> list[RaggedIds]:
            check_known(((each.label, each.place) for each in examples), classes)
            rows = tokenizer.ragged([each.text for each in examples], frame)
            check_lengths(np.diff(rows.offsets), limit, lambda row: (examples[row].place, examples[row].text))
            return [rows, RaggedIds([[classes[each.label]] for each in examples])]

        columns = encoded(parts, encode, f"labelled {tokenizer.content} {frame} {limit} {labels}")
        self.rows = {split: rows for split, (rows, _) in columns.items()}
        self.classes = {split: torch.tensor(numbers.flat, dtype=torch.int32) for split, (_, numbers) in columns.items()}
        super().__init__(about, spec, tokenizer, {split: rows.lengths for split, rows in self.rows.items()})
        self.labels = list(labels)

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """Give texts, lengths and classes."""
        rows = [self.rows[split][place] for place in places]
        return Batch(pad_rows(rows, self.tokenizer.pad), self.classes[split][list(places)].long())

    def classes_of(self, split: str) -> Int[Tensor, " n"]:
        """See `KnowsClasses.classes_of`."""
        return self.classes[split].long()


class TaggedCorpus(_Labels):
    """Serve sentences to an encoder, with the label of each word at its first token, as arXiv:1810.04805 sec. 5.3.

    A word whose label is empty asks for none.

    Args:
        about: the data.
        spec: of the model.
        tokenizer: of the sentences.
        parts: the sentences.
        labels: names of the labels; the place in the list is the class.

    Raises:
        ConfigError: If the model is no encoder.
        DataError: If a sentence is longer than the model reads, or a label is not among the names.
    """

    task = "tag"

    def __init__(
        self,
        about: DatasetInfo,
        spec: ModelSpec,
        tokenizer: Tokenizer,
        parts: Parts[Sentence] | TextStream[Sentence],
        labels: Sequence[str],
    ) -> None:
        tokenizer, frame = framed(about, spec, tokenizer)
        classes = {label: number for number, label in enumerate(labels)}
        limit = limit_of(spec.config)

        def encode(split: str, sentences: Sequence[Sentence]) -> list[RaggedIds]:
            check_known(((tag, each.place) for each in sentences for tag in each.tags if tag), classes)
            found = tokenizer.word_rows([each.words for each in sentences], frame)
            rows = RaggedIds([row for row, _ in found])
            check_lengths(
                np.diff(rows.offsets), limit, lambda row: (sentences[row].place, " ".join(sentences[row].words))
            )
            targets = (
                _spread(len(row), starts, [classes[tag] if tag else IGNORED for tag in each.tags])
                for (row, starts), each in zip(found, sentences, strict=True)
            )
            return [rows, RaggedIds(list(targets))]

        columns = encoded(parts, encode, f"tagged {tokenizer.content} {frame} {limit} {labels}")
        self.rows = {split: rows for split, (rows, _) in columns.items()}
        self.targets = {split: targets for split, (_, targets) in columns.items()}
        super().__init__(about, spec, tokenizer, {split: rows.lengths for split, rows in self.rows.items()})
        self.labels = list(labels)

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """Give sentences, lengths, and the class of each word at its first token."""
        rows = [self.rows[split][place] for place in places]
        targets = [self.targets[split][place] for place in places]
        return Batch(pad_rows(rows, self.tokenizer.pad), pad_rows(targets, IGNORED)[0])


def framed(about: DatasetInfo, spec: ModelSpec, tokenizer: Tokenizer) -> tuple[Tokenizer, Frame]:
    """Give the tokenizer of an encoder's texts, and the special tokens around each.

    Raises:
        ConfigError: If the model is no encoder.
    """
    if spec.reads != "encoder":
        raise ConfigError(f"'{about.name}' are texts with labels, and '{spec.name}' gives none: take an encoder")
    frame = frame_of(tokenizer, "encoder")
    return tokenizer.with_frame(frame), frame


def check_known(found: Iterable[tuple[str, str]], classes: dict[str, Any]) -> None:
    """Check that labels, each with its place, are among those of the training.

    Raises:
        DataError: If one is not.
    """
    for label, place in found:
        if label not in classes:
            raise DataError(f"{place}: label {label!r} is in no training example; they have {', '.join(classes)}")


def _spread(length: int, starts: Sequence[int], classes: Sequence[int]) -> list[int]:
    target = [IGNORED] * length
    for start, number in zip(starts, classes, strict=True):
        target[start] = number
    return target
