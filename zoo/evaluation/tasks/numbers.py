"""Answers that are numbers: R², mean absolute error and root mean squared error, of scikit-learn.

Axes: r answers, k numbers.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zoo.evaluation.judge import Answers, Index, Item, Numbers, Scores, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class NumbersJudge:
    """Judge numbers; one that is not known is NaN and is not judged. Of several numbers, a score is the mean.

    Args:
        answers: numbers (r, k), and the right ones (r, k).
        labels: names of the numbers.
    """

    def __init__(self, answers: Answers, labels: Sequence[str]) -> None:
        self.answers, self.labels = answers, labels
        self.known = ~np.isnan(answers.targets)

    @property
    def items(self) -> Sequence[Item]:
        """See `Judge.items`."""
        return self.answers.items

    def scores(self, chosen: Index) -> Scores:
        """See `Judge.scores`."""
        at = self.answers.of(chosen)
        each = [self._of(at, place) for place in range(len(self.labels))]
        names = each[0].keys()
        return {name: float(np.nanmean([one[name] for one in each])) for name in names}

    def _of(self, at: Index, place: int) -> Scores:
        import sklearn
        from sklearn import metrics

        at = at[self.known[at, place]]
        true, found = self.answers.targets[at, place], self.answers.values[at, place]
        if not len(at):
            return dict.fromkeys(("R²", "mean absolute error", "root mean squared error"), float("nan"))
        with sklearn.config_context(skip_parameter_validation=True):
            return {
                "R²": float(metrics.r2_score(true, found)) if len(at) > 1 else float("nan"),
                "mean absolute error": float(metrics.mean_absolute_error(true, found)),
                "root mean squared error": float(metrics.root_mean_squared_error(true, found)),
            }

    def losses(self) -> Numbers:
        """See `Judge.losses`: the mean absolute error, each number divided by its deviation."""
        off = np.abs(self.answers.values - self.answers.targets)
        spread = np.array([np.nanstd(column) or 1.0 for column in self.answers.targets.T])
        scaled = np.where(self.known, off / spread, 0)
        return self.answers.mean_by_item(scaled.sum(1) / np.maximum(self.known.sum(1), 1))

    def rows(self) -> list[dict[str, Any]]:
        """See `Judge.rows`."""
        rows = []
        for every, loss in zip(self.answers.each(), self.losses(), strict=True):
            at = every[:1]
            wanted, found = (_written(values[at]) for values in (self.answers.targets, self.answers.values))
            rows.append({"wanted": wanted, "found": found, "loss": float(loss)})
        return rows

    def figures(self) -> "Mapping[str, Figure]":
        """See `Judge.figures`: what was found over what was wanted."""
        from zoo.evaluation import figures

        found = {}
        for place, name in enumerate(self.labels[: figures.MOST_NUMBERS]):
            known = self.known[:, place]
            if known.any():
                pair = (values[known, place] for values in (self.answers.targets, self.answers.values))
                found[f"Found over wanted: {name}"] = figures.found_over_wanted(*pair)
        return found

    def tables(self) -> Sequence[Table]:
        """See `Judge.tables`: the scores of each number, where there are several."""
        if len(self.labels) < 2:
            return ()
        every = np.arange(len(self.answers.values))
        scores = [self._of(every, place) for place in range(len(self.labels))]
        rows = [[name, *found.values()] for name, found in zip(self.labels, scores, strict=True)]
        return [Table("Numbers", ("number", *scores[0]), rows)]


def _written(row: Any) -> str:
    return ", ".join(f"{value:.4g}" for value in row[0]) if len(row) else ""
