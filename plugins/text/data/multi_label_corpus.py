"""`MultiLabelCorpus`: texts with any number of labels each, as multi-label classification.

Axes: b texts, k labels.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from zoo import ModelSpec
from zoo.core import binary_cross_entropy
from zoo.data import SCORES, SKLEARN, Batch, DatasetInfo, Parts, RaggedIds, evaluation_mode, label_scores
from zoo.plugins.shared.text.tokenizer import Tokenizer, pad_rows
from zoo.plugins.text.data.corpus import TextCorpus, check_lengths
from zoo.plugins.text.data.label_set_files import LabelSet
from zoo.plugins.text.data.labelled_corpus import check_known, framed
from zoo.plugins.text.data.text_stream import TextStream, encoded
from zoo.plugins.text.io.preprocess import limit_of
from zoo.registry import require

_UNKNOWN = 2
"""Stands in the rows of targets, beside 0 and 1, for a label of which nobody knows."""


class MultiLabelCorpus(TextCorpus):
    """Serve texts with any number of labels each, none too, to an encoder; the loss is a binary cross-entropy each.

    Args:
        about: the data.
        spec: of the model.
        tokenizer: of the texts.
        parts: the texts.
        labels: their names, in the order of the answer.

    Raises:
        ConfigError: If the model is no encoder.
        DataError: If a text is longer than the model reads, or a label is not among the names.
        MissingLibraryError: If scikit-learn is not installed.
    """

    task = "multi-label"
    metric = "micro F1"
    smooth = ("mAP",)

    def __init__(
        self,
        about: DatasetInfo,
        spec: ModelSpec,
        tokenizer: Tokenizer,
        parts: Parts[LabelSet] | TextStream[LabelSet],
        labels: Sequence[str],
    ) -> None:
        require(about.name, (SKLEARN,))
        tokenizer, frame = framed(about, spec, tokenizer)
        classes = {label: number for number, label in enumerate(labels)}
        limit = limit_of(spec.config)

        def encode(split: str, examples: Sequence[LabelSet]) -> list[RaggedIds]:
            check_known(((label, each.place) for each in examples for label in each.labels), classes)
            rows = tokenizer.ragged([each.text for each in examples], frame)
            check_lengths(np.diff(rows.offsets), limit, lambda row: (examples[row].place, examples[row].text))
            return [rows, RaggedIds([_row(each, labels) for each in examples])]

        columns = encoded(parts, encode, f"multi-label {tokenizer.content} {frame} {limit} {labels}")
        self.rows = {split: rows for split, (rows, _) in columns.items()}
        self.targets = {split: _matrix(told, len(labels)) for split, (_, told) in columns.items()}
        super().__init__(about, spec, tokenizer, {split: rows.lengths for split, rows in self.rows.items()})
        self.labels = list(labels)

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """Give texts, lengths, and 1 or 0 for each label, NaN where nobody knows."""
        rows = [self.rows[split][place] for place in places]
        told = self.targets[split][list(places)].float()
        return Batch(pad_rows(rows, self.tokenizer.pad), told.masked_fill(told == _UNKNOWN, torch.nan))

    def loss(self, answer: Tensor, target: Tensor, smoothing: float) -> Tensor:
        """See `Corpus.loss`: the mean binary cross-entropy of the labels."""
        return binary_cross_entropy(answer, target, smoothing)

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Give F1, exact match and mean average precision at the threshold 0.5, and the loss."""
        with evaluation_mode(model) as device:
            return label_scores(model, self.held_out(split, batch_size), device)

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        return SCORES


def _row(example: LabelSet, labels: Sequence[str]) -> list[int]:
    """Give 1 for each label that a text has, 0 for others, 2 where nobody knows."""
    return [_UNKNOWN if label in example.unknown else int(label in example.labels) for label in labels]


def _matrix(told: RaggedIds, labels: int) -> Tensor:
    return torch.from_numpy(np.asarray(told.flat).astype(np.int8)).view(-1, labels)
