"""Curves that rise: about 15 % of real ones do somewhere (arXiv:2505.15657), and no family here can follow them."""

import math
from itertools import combinations
from statistics import NormalDist

from zoo.bench.decision.bootstrap import LEVEL
from zoo.bench.decision.curve import Curve


def rise(curve: Curve) -> tuple[int, int] | None:
    """Give the two sizes between which the error rises most clearly; None where it rises by no more than noise.

    The two are compared on the same test examples. Several pairs are looked at, and each asked for so much more
    (Bonferroni) that a level curve is called rising in at most 2.5 % of cases.
    """
    found, clearest = None, 0.0
    pairs = list(combinations(range(len(curve.sizes)), 2))
    for i, j in pairs:
        up = float(curve.errors[j] - curve.errors[i])
        spread = float((curve.draws[:, j] - curve.draws[:, i]).std())
        clear = up / spread if spread > 0 else math.copysign(math.inf, up) if up else 0.0
        if clear > max(clearest, NormalDist().inv_cdf(1 - (1 - LEVEL) / 2 / len(pairs))):
            found, clearest = (curve.sizes[i], curve.sizes[j]), clear
    return found
