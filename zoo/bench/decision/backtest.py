"""Back-tests: what would have been predicted from the smaller sizes, beside what the largest one showed."""

from dataclasses import dataclass, replace

import numpy as np

from zoo.bench.decision.bootstrap import Array, Interval
from zoo.bench.decision.curve import Curve
from zoo.bench.decision.curve_fit import Crossover
from zoo.bench.decision.labels import why_not
from zoo.bench.decision.selection import Selection, select


@dataclass(frozen=True)
class Check:
    """Hold a prediction and what was measured.

    Args:
        predicted: from the smaller sizes; None for a crossing that was predicted nowhere.
        measured: None for a crossing that was measured nowhere.
        held: whether the interval of the prediction holds what was measured.
        selection: of the family that predicted; None for a crossing.
    """

    predicted: Interval | None
    measured: float | None
    held: bool
    selection: Selection | None = None


def check_error(curve: Curve) -> Check | None:
    """Predict the error at the largest size, as a mean over as many seeds; None where no prediction is made."""
    before, selection = curve.without_largest(), _selected(curve)
    if selection is None:
        return None
    expected = selection.error_at(curve.largest, _noise(before))
    possible = replace(expected, low=max(0.0, expected.low))  # where noise alone would bring it below no error at all
    return _checked(possible, float(curve.errors[-1]), selection)


def check_labels(curve: Curve) -> Check | None:
    """Predict the size at which the error is that of the largest size; None where a smaller one has it, too."""
    before, selection = curve.without_largest(), _selected(curve)
    if selection is None or curve.errors[-1] >= before.errors.min():
        return None
    return _checked(selection.size_at(float(curve.errors[-1]), _noise(before)), float(curve.largest), selection)


def check_crossing(before: Crossover | None, after: Crossover | None, largest: int) -> Check | None:
    """Compare the crossing predicted without the largest size with the one measured up to it.

    Args:
        before: of two curves without their largest size.
        after: with it.
        largest: that size.

    Returns:
        None where nothing was predicted: the two did not differ clearly, or had crossed already.
    """
    if before is None or before.kind in ("measured", "always"):
        return None
    measured = after.size.value if after and after.kind == "measured" and after.size else None
    if measured is None:
        return Check(before.size, None, before.size is None or before.size.high > largest)
    return Check(before.size, measured, before.size is not None and before.size.low <= measured <= before.size.high)


def _selected(curve: Curve) -> Selection | None:
    before = curve.without_largest()
    return None if why_not(before) else select(before)


def _checked(predicted: Interval, measured: float, selection: Selection) -> Check:
    return Check(predicted, measured, predicted.low <= measured <= predicted.high, selection)


def _noise(curve: Curve) -> Array:
    """Give the noise of another measurement (1 + r,): that of the largest size there is, in another order."""
    noise = np.roll(curve.draws[:, -1], 1) - curve.errors[-1]
    return np.concatenate([[0.0], noise])
