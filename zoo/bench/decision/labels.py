"""Labels that a target needs: how many, with what certainty, and in which rounds to get them."""

import math
from dataclasses import dataclass

from zoo.bench.decision.bootstrap import Interval
from zoo.bench.decision.curve import Curve
from zoo.bench.decision.curve_fit import REACH
from zoo.bench.decision.selection import LEAST_SIZES, Selection, select
from zoo.bench.decision.shape import rise
from zoo.names import counted

FAR = 10
"""Times the largest size measured beyond which nothing is promised."""


@dataclass(frozen=True)
class Labels:
    """Tell how many training examples one model needs for an error.

    Args:
        name: of the model.
        size: training examples in all, inf where the error is out of reach; None where nothing can be said.
        reached: whether that was measured.
        selection: of the family that was followed; None where none was.
        reason: why nothing can be said.
    """

    name: str
    size: Interval | None = None
    reached: bool = False
    selection: Selection | None = None
    reason: str = ""

    @property
    def expected(self) -> float:
        """Give the estimate of the training examples in all; inf where there is none."""
        return self.size.value if self.size else math.inf


def labels_for(curve: Curve, error: float) -> Labels:
    """Find the size from which on a model's error is at most so large.

    Args:
        curve: of the model.
        error: in the unit of the curve.
    """
    if not curve.sizes:
        return Labels(curve.name, reason="has no finished run above chance")
    below = [bool(each <= error) for each in curve.errors]
    if below[-1]:
        first = len(below) - (below[::-1].index(False) if False in below else len(below))
        return Labels(curve.name, Interval(*[float(curve.sizes[first])] * 3), reached=True)
    if refused := why_not(curve):
        return Labels(curve.name, reason=refused)
    selection = select(curve)
    assert selection
    least, most = float(curve.largest), REACH * curve.largest
    size = selection.size_at(error).mapped(lambda n: math.inf if n > most else max(n, least))
    return Labels(curve.name, size, selection=selection)


def why_not(curve: Curve) -> str:
    """Say why a curve cannot be followed beyond its largest size; empty if it can."""
    if len(curve.sizes) < LEAST_SIZES:
        found = counted(len(curve.sizes), "size")
        return f"has {found} above chance, and a curve takes at least {LEAST_SIZES}, better {LEAST_SIZES + 1}"
    if sizes := rise(curve):
        return f"has an error that rises from {sizes[0]:,} to {sizes[1]:,} examples: no such curve is extrapolated"
    return ""


def rounds(have: int, size: Interval) -> list[int]:
    """Plan the training examples in all after each round of labelling: doubled, at most to the upper end.

    One round ends at the estimate. Several rounds, with a new decision after each, need far fewer labels than one
    (arXiv:2207.01725 sec. 5 has five). None goes beyond ten times what there is.

    Args:
        have: labels that there are.
        size: that is needed.
    """
    end, plan = min(size.high, FAR * have), [float(have)]
    while plan[-1] < end - 0.5:
        ahead = min(2 * plan[-1], end)
        plan.append(size.value if 1.1 * plan[-1] < size.value < ahead else ahead)
    return [math.ceil(total) for total in plan[1:]]
