"""Families of learning curves, fitted to a curve and all its replicates at once.

Every family is err(N) = a g(N; b) + c with a shape g that falls with the number of training examples N. For a given b
it is linear in a and c, so that weighted least squares has a closed form, and b alone is searched: the separable least
squares of Golub and Pereyra (1973). A thousand replicates then take milliseconds, without a start value.
Axis letters: r rows (the estimate and its replicates), k candidates of b, n sizes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from zoo.bench.decision.bootstrap import Array

LEAST = 1e-3
"""Errors below this share of the largest are fitted as that: a few test examples right by luck are no law."""
_CANDIDATES, _ZOOMED, _ZOOMS = 60, 9, 7


@dataclass(frozen=True, kw_only=True)
class Family:
    """Describe a family of curves.

    Args:
        formula: for the reader.
        parameters: that are fitted; so many sizes at least are needed.
        shape: g at some sizes over the geometric mean of those measured, for some b.
        inverse: size over that mean at which g has a value, for some b.
        bounds: of b, in the unit of that mean; equal ones where there is no b.
        floor: which c there may be: none, one of at least 0, any.
    """

    name: str
    formula: str
    parameters: int
    shape: Callable[[Array, Array], Array]
    inverse: Callable[[Array, Array], Array]
    bounds: tuple[float, float]
    floor: Literal["none", "positive", "any"]


POWER_LAW = Family(
    name="power law",
    formula="a N^-b",
    parameters=2,
    shape=lambda n, b: n**-b,
    inverse=lambda g, b: g ** (-1 / b),
    bounds=(0.01, 5.0),
    floor="none",
)
"""arXiv:1712.00409; "M1" of arXiv:2210.14891 sec. 4."""
LOGARITHM = Family(
    name="logarithm",
    formula="c - a log N",
    parameters=2,
    shape=lambda n, b: -np.log(n) * b,
    inverse=lambda g, b: np.exp(-g / b),
    bounds=(1.0, 1.0),
    floor="any",
)
"""Table 1 of arXiv:2207.01725, there with a shift of N, which four sizes cannot tell."""
POWER_LAW_WITH_FLOOR = Family(
    name="power law with floor",
    formula="a N^-b + c",
    parameters=3,
    shape=POWER_LAW.shape,
    inverse=POWER_LAW.inverse,
    bounds=POWER_LAW.bounds,
    floor="positive",
)
"""Table 1 of arXiv:2207.01725; "M2" of arXiv:2210.14891."""
EXPONENTIAL = Family(
    name="exponential",
    formula="a exp(-b N) + c",
    parameters=3,
    shape=lambda n, b: np.exp(-b * n),
    inverse=lambda g, b: -np.log(g) / b,
    bounds=(0.01, 30.0),
    floor="positive",
)
"""arXiv:2103.10948 sec. 4.1: curves of noise-free problems."""
FAMILIES = (POWER_LAW, LOGARITHM, POWER_LAW_WITH_FLOOR, EXPONENTIAL)
"""The simplest first."""


@dataclass(frozen=True)
class Fits:
    """Hold a family fitted to each of r rows; the first is the estimate, the others its replicates.

    Args:
        family: of the curves.
        unit: geometric mean of the sizes, in which `family` reads sizes.
        a: (r,) of the formula in that unit, as `b` and `c`.
    """

    family: Family
    unit: float
    a: Array
    b: Array
    c: Array

    def __call__(self, sizes: Sequence[int] | Array) -> Array:
        """Give the errors (r, n) at some sizes."""
        n = np.asarray(sizes, float)[None, :] / self.unit
        fitted: Array = np.maximum(self.a[:, None] * self.family.shape(n, self.b[:, None]) + self.c[:, None], 0.0)
        return fitted

    def reaching(self, errors: Array) -> Array:
        """Give the sizes (r,) at which the curves come down to some errors (r,); inf where they never do."""
        falls = (self.a > 0) & ((errors > self.c) | (self.family.floor == "any"))
        level = np.divide(errors - self.c, self.a, out=np.ones_like(self.a), where=falls)
        with np.errstate(over="ignore"):
            sizes = self.unit * self.family.inverse(level, self.b)
        return np.where(falls, np.maximum(sizes, 0.0), np.inf)


def clipped(errors: Array) -> Array:
    """Raise errors below `LEAST` of the largest to that; a model without an error has a tiny one."""
    return np.maximum(errors, LEAST * np.maximum(errors.max(-1, keepdims=True), LEAST))


def weights_of(errors: Array, draws: Array) -> Array:
    """Give the weight (n,) of each size in a fit: one over the variance of its replicates.

    A few seeds tell little of the variance at one size, so that half of it is the curve's mean, relative to the error.
    """
    square = clipped(errors) ** 2
    relative = draws.var(0) / square
    variance = square * (relative + relative.mean()) / 2
    return 1 / variance if relative.any() else 1 / square


def fit(family: Family, sizes: Sequence[int], rows: Array, weights: Array) -> Fits:
    """Fit a family to each row of errors by weighted least squares.

    Args:
        family: to fit.
        sizes: (n,) numbers of training examples.
        rows: (r, n) errors.
        weights: (n,) of the squared residuals.
    """
    unit = float(np.exp(np.log(sizes).mean()))
    n, weights = np.asarray(sizes, float) / unit, weights / weights.sum()
    rows = clipped(rows)
    low, high = np.log(family.bounds)
    tried = np.linspace(low, high, _CANDIDATES)[None, :] if high > low else np.full((1, 1), low)
    step = (high - low) / (_CANDIDATES - 1)
    for _ in range(_ZOOMS):
        a, c, off = _linear(family, n, rows, weights, np.exp(tried))
        best = off.argmin(1)[:, None]
        a, b, c = (np.take_along_axis(each, best, 1) for each in (a, np.broadcast_to(tried, off.shape), c))
        if high == low:
            break
        tried = np.clip(b + step * np.linspace(-1, 1, _ZOOMED), low, high)
        step = 2 * step / (_ZOOMED - 1)
    return Fits(family, unit, a[:, 0], np.exp(b[:, 0]), c[:, 0])


def _linear(family: Family, n: Array, rows: Array, weights: Array, b: Array) -> tuple[Array, Array, Array]:
    """Give the best a and c, (r, k), for each candidate of b, and the squares that are left."""
    g = family.shape(n, b[..., None])
    errors = rows[:, None, :]
    alone = _ratio((g * errors * weights).sum(-1), (g * g * weights).sum(-1))
    if family.floor == "none":
        a, c = alone, np.zeros_like(alone)
    else:
        middle, mean = (g * weights).sum(-1, keepdims=True), (errors * weights).sum(-1, keepdims=True)
        a = _ratio(((g - middle) * (errors - mean) * weights).sum(-1), ((g - middle) ** 2 * weights).sum(-1))
        a = np.maximum(a, 0.0)
        c = mean[..., 0] - a * middle[..., 0]
        if family.floor == "positive":
            a, c = np.where(c < 0, alone, a), np.maximum(c, 0.0)
    off = ((errors - a[..., None] * g - c[..., None]) ** 2 * weights).sum(-1)
    return a, c, off


def _ratio(above: Array, below: Array) -> Array:
    return np.divide(above, below, out=np.zeros(np.broadcast_shapes(above.shape, below.shape)), where=below > 0)
