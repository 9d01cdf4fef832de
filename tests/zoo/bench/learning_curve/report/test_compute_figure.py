"""The panels of error over cost."""

import pytest
from matplotlib.figure import Figure

from zoo.bench.learning_curve.report.compute_figure import _widen


def test_points_at_one_place_have_room_whatever_the_rounding() -> None:
    panel = Figure().add_subplot(xscale="log", yscale="log")
    panel.set_xlim(1.92e9, 1.92e9 * (1 + 1e-14))
    panel.set_ylim(0.1, 0.2)
    _widen(panel)
    assert panel.get_xlim() == pytest.approx((0.96e9, 3.84e9))
    assert panel.get_ylim() == pytest.approx((0.1, 0.2))
