"""Answers that are several labels at once, any of which may hold: F1 and area under the ROC curve by label.

Axes: r answers, k labels.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zoo.data.metrics.label_metrics import THRESHOLD, f1_scores
from zoo.evaluation.judge import Answers, Index, Item, Numbers, Scores, Table
from zoo.evaluation.tasks.classes import calibration, calibration_error, roc_auc

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class LabelsJudge:
    """Judge probabilities of labels; what is not known of an item is NaN and is not judged.

    Args:
        answers: probabilities (r, k), and 1, 0 or NaN for each label (r, k).
        labels: their names.
    """

    def __init__(self, answers: Answers, labels: Sequence[str]) -> None:
        self.answers, self.labels = answers, labels
        self.known = ~np.isnan(answers.targets)
        self.true = answers.targets == 1
        self.found = answers.values >= THRESHOLD
        self.ranks = np.stack([np.unique(column, return_inverse=True)[1] for column in answers.values.T], 1)

    @property
    def items(self) -> Sequence[Item]:
        """See `Judge.items`."""
        return self.answers.items

    def scores(self, chosen: Index) -> Scores:
        """See `Judge.scores`."""
        at = self.answers.of(chosen)
        known, true, found = self.known[at], self.true[at], self.found[at]
        areas = [self._area(at, label) for label in range(len(self.labels))]
        right = (true == found)[known]
        sure = np.maximum(self.answers.values, 1 - self.answers.values)[at][known]
        return {
            "ROC AUC": float(np.nanmean(areas)) if not np.isnan(areas).all() else float("nan"),
            **f1_scores(true, found, known),
            "accuracy": float(right.mean()) if len(right) else float("nan"),
            "calibration error": calibration_error(sure, right),
        }

    def _area(self, at: Index, label: int) -> float:
        at = at[self.known[at, label]]
        return roc_auc(self.ranks[at, label], self.true[at, label])

    def losses(self) -> Numbers:
        """See `Judge.losses`: the mean surprise at the labels of an item that are known."""
        chance = np.where(self.true, self.answers.values, 1 - self.answers.values)
        surprise = np.where(self.known, -np.log(np.clip(chance, 1e-15, None)), 0)
        return self.answers.mean_by_item(surprise.sum(1) / np.maximum(self.known.sum(1), 1))

    def rows(self) -> list[dict[str, Any]]:
        """See `Judge.rows`."""
        rows = []
        for every, loss in zip(self.answers.each(), self.losses(), strict=True):
            at = every[:1]
            wanted, found = ((which[at] & self.known[at]).any(0) for which in (self.true, self.found))
            right = bool((self.true == self.found)[at][self.known[at]].all())
            row = {"wanted": self._named(wanted), "found": self._named(found), "loss": float(loss), "right": right}
            rows.append(row)
        return rows

    def _named(self, which: Any) -> str:
        return ", ".join(label for label, there in zip(self.labels, which, strict=True) if there)

    def figures(self) -> "Mapping[str, Figure]":
        """See `Judge.figures`."""
        from zoo.evaluation import figures

        sure = np.maximum(self.answers.values, 1 - self.answers.values)[self.known]
        return {"Reliability": figures.reliability(*calibration(sure, (self.true == self.found)[self.known]))}

    def tables(self) -> Sequence[Table]:
        """See `Judge.tables`."""
        every = np.arange(len(self.answers.values))
        rows = [
            [name, int(self.known[:, place].sum()), int(self.true[:, place].sum()), self._area(every, place)]
            for place, name in enumerate(self.labels)
        ]
        return [Table("Labels", ("label", "known", "positive", "ROC AUC"), rows)]
