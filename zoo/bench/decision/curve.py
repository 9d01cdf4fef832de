"""One learning curve: the error of a model by its number of training examples, and the replicates of a bootstrap."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zoo.bench.decision.bootstrap import Array


@dataclass(frozen=True)
class Curve:
    """Hold the errors of one model. Axis letters: r replicates, n sizes.

    Args:
        name: of the model.
        sizes: numbers of training examples, ascending.
        errors: (n,) mean errors over seeds, the distance from the best score in the unit of the metric.
        draws: (r, n) replicates of the errors, by a bootstrap over seeds and test examples.
    """

    name: str
    sizes: Sequence[int]
    errors: Array
    draws: Array

    @property
    def rows(self) -> Array:
        """Give the errors and their replicates, (1 + r, n): what is done to all of them at once."""
        return np.vstack([self.errors, self.draws])

    @property
    def largest(self) -> int:
        """Give the largest size measured."""
        return self.sizes[-1]

    def without_largest(self) -> "Curve":
        """Give the curve as it was before its largest size was measured."""
        return Curve(self.name, self.sizes[:-1], self.errors[:-1], self.draws[:, :-1])
