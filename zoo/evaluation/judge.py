"""`Judge`: the answers of a model to the items of a split, and what they are worth.

Axes: n items, m of them.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Index = NDArray[np.int64]
Numbers = NDArray[np.float64]
Scores = dict[str, float]
"""By name; a score that is not defined, such as the area under a curve of one class, is NaN."""
LOWER = ("log loss", "calibration error", "perplexity", "bits per character", "mean absolute error",
         "root mean squared error", "word error rate", "character error rate")  # fmt: skip
"""Names of scores that are better where they are lower."""


class Item(NamedTuple):
    """An example: its split, and its index there."""

    split: str
    place: int


class Judge(Protocol):
    """Answers to items; a bootstrap draws items, so that what belongs together, as the words of a text, stays so."""

    @property
    def items(self) -> Sequence[Item]:
        """Give the items (n)."""

    def scores(self, chosen: Index) -> Scores:
        """Judge the answers to some items, any of them several times."""

    def losses(self) -> Numbers:
        """Say how bad the answer to each item is (n)."""

    def rows(self) -> list[dict[str, Any]]:
        """Describe the answer to each item, for a table."""

    def figures(self) -> "Mapping[str, Figure]":
        """Draw what numbers do not tell, by title."""

    def tables(self) -> Sequence["Table"]:
        """Give tables behind the scores, such as one of classes."""


class Table(NamedTuple):
    """A table of the report."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class Answers(NamedTuple):
    """Answers of one shape: one for each item, or several, as for the words of a text; r answers in all.

    Args:
        items: (n).
        owner: of each answer, the number of its item, in order (r).
        values: of the model (r, ...).
        targets: what was wanted (r, ...).
    """

    items: Sequence[Item]
    owner: Index
    values: NDArray[Any]
    targets: NDArray[Any]

    def of(self, chosen: Index) -> Index:
        """Give the places of the answers to some items."""
        starts = np.searchsorted(self.owner, np.arange(len(self.items) + 1))
        counts = (starts[1:] - starts[:-1])[chosen]
        if len(self.owner) == len(self.items):
            return starts[:-1][chosen]
        ends = counts.cumsum()
        return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts[:-1][chosen] - (ends - counts), counts)

    def each(self) -> list[Index]:
        """Give the places of the answers to each item."""
        ends = np.searchsorted(self.owner, np.arange(1, len(self.items)))
        return [*np.split(np.arange(len(self.owner)), ends)]

    def mean_by_item(self, values: Numbers) -> Numbers:
        """Give the mean over the answers to each item; 0 for an item without one."""
        counts = np.bincount(self.owner, minlength=len(self.items))
        return np.bincount(self.owner, values, len(self.items)) / np.maximum(counts, 1)
