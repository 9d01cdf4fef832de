"""`ClassRatio`: how many training examples one class has beside the others.

Axes: k classes, n examples.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from zoo.errors import ConfigError

Weights = Float64[np.ndarray, " k"]
_FORMS = "write a number for each class, as 8,4,2,1, or one number R, with which class sizes fall exponentially by R"


@dataclass(frozen=True)
class ClassRatio:
    """Sizes of classes beside each other, in the order of the classes.

    Args:
        numbers: one for each class; or a single one, R: class i of k has the weight R^(-i / (k - 1)), so that the
            first class has R times as many examples as the last, as the long-tailed data of arXiv:1901.05555 sec. 5.
    """

    numbers: tuple[float, ...]

    @classmethod
    def parse(cls, given: str | float | Sequence[float]) -> "ClassRatio":
        """Read numbers, or a text of them with commas between.

        Raises:
            ConfigError: If one is no number, or not above 0, or a single one is below 1.
        """
        text = ",".join(map(str, given)) if isinstance(given, Sequence) and not isinstance(given, str) else str(given)
        try:
            numbers = tuple(float(part) for part in text.split(","))
        except ValueError:
            raise ConfigError(f"class_ratio={text!r}: {_FORMS}") from None
        if wrong := [number for number in numbers if not 0 < number < math.inf]:
            raise ConfigError(
                f"class_ratio={text!r}: {wrong[0]:g} is not above 0 and finite; a class without examples "
                "is left out of the data"
            )
        if len(numbers) == 1 and numbers[0] < 1:
            raise ConfigError(f"class_ratio={text!r}: one number is the largest class over the smallest, 1 or more")
        return cls(numbers)

    def __str__(self) -> str:
        """Write it as `parse` reads it."""
        return ",".join(f"{number:.12g}" for number in self.numbers)

    def check(self, classes: Sequence[str], data: str) -> None:
        """Check that there is a number for each class.

        Raises:
            ConfigError: If there are more classes than numbers, or fewer.
        """
        if len(self.numbers) not in (1, len(classes)):
            raise ConfigError(
                f"class_ratio='{self}' has {len(self.numbers)} numbers, and {data!r} has {len(classes)} classes, "
                f"{_some(classes)}: give one number for each, in this order, or a single one for an exponential fall"
            )

    def sequence(self, classes: int, count: int) -> Int64[np.ndarray, " n"]:
        """Give the classes of the first examples of an endless sequence, whose every beginning has about the ratio.

        The next example is of the class with the highest weight / (own examples + 1/2), the method of Webster and
        Sainte-Laguë. No class loses examples when there are more in all, as it may where fractions are rounded.
        """
        shares = self._shares(classes)
        most = np.floor(shares * (count + classes / 2) + 0.5).astype(np.int64) + 1
        owner = np.repeat(np.arange(classes), most)
        rank = np.arange(len(owner)) - np.repeat(most.cumsum() - most, most)
        return owner[np.lexsort((owner, -shares[owner] / (rank + 0.5)))[:count]]

    def counts(self, classes: int, count: int) -> Int64[np.ndarray, " k"]:
        """Give the examples of each class, of so many in all."""
        return np.bincount(self.sequence(classes, count), minlength=classes)

    def least(self, classes: int) -> int:
        """Give the number of examples from which on every class has one."""
        shares = self._shares(classes)
        enough = math.ceil((shares / shares.min()).sum() / 2 + classes)
        return int(np.unique(self.sequence(classes, enough), return_index=True)[1].max()) + 1

    def most(self, available: Int64[np.ndarray, " k"]) -> int:
        """Give the highest number of examples of this ratio, of so many that each class has."""
        drawn = self.sequence(len(available), int(available.sum()) + 1)
        places = [np.flatnonzero(drawn == each) for each in range(len(available))]
        return min(int(own[count]) for own, count in zip(places, available, strict=True) if len(own) > count)

    def _shares(self, classes: int) -> Weights:
        single = len(self.numbers) == 1 and classes > 1
        falling = self.numbers[0] ** (-np.arange(classes) / max(1, classes - 1))
        weights = falling if single else np.asarray(self.numbers, np.float64)
        return weights / weights.sum()


def _some(classes: Sequence[str]) -> str:
    shown = ", ".join(classes[:12])
    return f"{shown}, …" if len(classes) > 12 else shown
