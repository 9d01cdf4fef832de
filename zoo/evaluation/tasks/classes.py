"""Answers that are one class each: accuracy, balanced accuracy, macro F1, log loss, calibration, ROC AUC.

The scores are those of scikit-learn. The area under the curve is computed from counts of equal scores, which gives what
`roc_auc_score` gives (tested) in a twentieth of its time: a bootstrap asks for it a thousand times for each class.

Axes: r answers, k classes, b bins.
"""

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zoo.evaluation.judge import Answers, Index, Item, Numbers, Scores, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 15
"""Of confidence, for the calibration error: arXiv:1706.04599 sec. 5."""
AREAS = 100
"""Classes up to which the area under the ROC curve is told."""


class ClassJudge:
    """Judge probabilities of classes.

    Args:
        answers: probabilities (r, k), and the right classes (r).
        labels: names of the classes.
    """

    def __init__(self, answers: Answers, labels: Sequence[str]) -> None:
        self.answers, self.labels = answers, labels
        self.predicted = answers.values.argmax(-1)
        self.confidence = answers.values.max(-1)
        chance = np.take_along_axis(answers.values, answers.targets[:, None], 1)[:, 0]
        self.surprise: Numbers = -np.log(np.clip(chance, 1e-15, None))

    @property
    def items(self) -> Sequence[Item]:
        """See `Judge.items`."""
        return self.answers.items

    @cached_property
    def _ranks(self) -> Index:
        """Give the rank of each score among those of its class (r, k); equal scores have equal ranks."""
        columns = [np.unique(column, return_inverse=True)[1] for column in self.answers.values.T]
        return np.stack(columns, 1)

    def scores(self, chosen: Index) -> Scores:
        """See `Judge.scores`."""
        import sklearn
        from sklearn import metrics

        at = self.answers.of(chosen)
        true, found = self.answers.targets[at], self.predicted[at]
        right = true == found
        with warnings.catch_warnings(), sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            warnings.filterwarnings("ignore", "y_pred contains classes not in y_true")  # which have no recall
            made = {
                "accuracy": float(metrics.accuracy_score(true, found)),
                "balanced accuracy": float(metrics.balanced_accuracy_score(true, found)),
                "macro F1": float(metrics.f1_score(true, found, average="macro", zero_division=0)),
            }
        made["log loss"] = float(self.surprise[at].mean())
        made["calibration error"] = calibration_error(self.confidence[at], right)
        if len(self.labels) <= AREAS:
            made["ROC AUC"] = self._area(at)
        return made

    def _area(self, at: Index) -> float:
        """Give the area under the ROC curve: of the second of two classes, else the mean of each against the rest."""
        ranks, true = self._ranks[at], self.answers.targets[at]
        classes = [1] if len(self.labels) == 2 else range(len(self.labels))
        areas = [roc_auc(ranks[:, place], true == place) for place in classes]
        defined = [area for area in areas if not np.isnan(area)]
        return float(np.mean(defined)) if defined else float("nan")

    def losses(self) -> Numbers:
        """See `Judge.losses`: the surprise at the right class, the mean over the answers to an item."""
        return self.answers.mean_by_item(self.surprise)

    def rows(self) -> list[dict[str, Any]]:
        """See `Judge.rows`."""
        names, losses = np.array(self.labels, object), self.losses()
        wanted, found = names[self.answers.targets], names[self.predicted]
        if len(self.answers.owner) == len(self.items):
            columns = zip(wanted, found, self.confidence, losses, strict=True)
            return [
                {"wanted": true, "found": mine, "probability": float(sure), "loss": float(loss), "right": true == mine}
                for true, mine, sure, loss in columns
            ]
        rows = []
        for at, loss in zip(self.answers.each(), losses, strict=True):
            rows.append(
                {
                    "wanted": " ".join(wanted[at]),
                    "found": " ".join(found[at]),
                    "loss": float(loss),
                    "right": bool((wanted[at] == found[at]).all()),
                }
            )
        return rows

    def figures(self) -> "Mapping[str, Figure]":
        """See `Judge.figures`: confusions, and accuracy over confidence."""
        from zoo.evaluation import figures

        right = self.predicted == self.answers.targets
        made = {"Reliability": figures.reliability(*calibration(self.confidence, right))}
        if len(self.labels) <= figures.MOST_CLASSES:
            made = {"Confusion matrix": figures.confusion(self.counts, self.labels)} | made
        return made

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Count answers by right class (rows) and found class (columns)."""
        from sklearn.metrics import confusion_matrix

        counts: NDArray[np.int64] = confusion_matrix(
            self.answers.targets, self.predicted, labels=np.arange(len(self.labels))
        )
        return counts

    def tables(self) -> Sequence[Table]:
        """See `Judge.tables`: precision, recall and F1 of each class that occurs."""
        from sklearn.metrics import precision_recall_fscore_support

        every = np.arange(len(self.labels))
        found = precision_recall_fscore_support(self.answers.targets, self.predicted, labels=every, zero_division=0)
        rows = [
            [name, int(support), float(precision), float(recall), float(f1)]
            for name, precision, recall, f1, support in zip(self.labels, *found, strict=True)
        ]
        return [Table("Classes", ("class", "answers", "precision", "recall", "F1"), rows)]


def roc_auc(ranks: NDArray[np.int64], positive: NDArray[np.bool_]) -> float:
    """Give the area under the ROC curve: how often a right one ranks above a wrong one, half where they rank alike.

    Args:
        ranks: whole numbers from 0, higher for higher scores.
        positive: which are right.

    Returns: NaN where all are right, or none.
    """
    count = int(ranks.max()) + 1 if len(ranks) else 0
    right, wrong = np.bincount(ranks[positive], minlength=count), np.bincount(ranks[~positive], minlength=count)
    pairs = float(right.sum()) * float(wrong.sum())
    return float(right @ (wrong.cumsum() - wrong / 2)) / pairs if pairs else float("nan")


def calibration(confidence: Numbers, right: NDArray[np.bool_]) -> tuple[Numbers, Numbers, NDArray[np.int64]]:
    """Give mean confidence, accuracy and number of answers of each bin of equal width (b), empty or not."""
    bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    filled = np.maximum(counts, 1)
    return np.bincount(bins, confidence, BINS) / filled, np.bincount(bins, right, BINS) / filled, counts


def calibration_error(confidence: Numbers, right: NDArray[np.bool_]) -> float:
    """Give the expected calibration error, arXiv:1706.04599 eq. 3: the mean distance of accuracy and confidence."""
    sure, accuracy, counts = calibration(confidence, right)
    return float((np.abs(sure - accuracy) * counts).sum() / max(counts.sum(), 1))
