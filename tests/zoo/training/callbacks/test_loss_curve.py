import json
from pathlib import Path
from typing import Any

import pytest
import torch

from zoo.training.callbacks.loss_curve import POINTS, LossCurve, draw
from zoo.training.loop import Outcome, Validation


def gathered(curve: LossCurve, first: int, last: int) -> LossCurve:
    for step in range(first, last + 1):
        curve.add(step, torch.tensor(1.0 / step))
    return curve


def test_a_point_is_the_mean_of_its_stretch() -> None:
    curve = gathered(LossCurve(1000), 1, 1000)
    assert curve.steps == [*range(10, 1001, 10)]
    assert curve.losses[1] == pytest.approx(sum(1 / step for step in range(11, 21)) / 10)


@pytest.mark.parametrize("steps", [1, 7, 99, 149, 151, 1234])
def test_there_are_about_a_hundred_points_and_the_last_step_is_one(steps: int) -> None:
    curve = gathered(LossCurve(steps), 1, steps)
    assert curve.steps[-1] == steps
    assert min(steps, POINTS) * 0.7 <= len(curve.steps) <= 1.5 * POINTS + 1


def test_the_loss_is_read_at_the_end_of_a_stretch_only() -> None:
    read = []

    class Loss(torch.Tensor):
        def __float__(self) -> float:
            read.append(1)
            return 0.5

    curve = LossCurve(200)
    for step in range(1, 11):
        curve.add(step, torch.ones(()).as_subclass(Loss))
    assert len(read) == 5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_what_was_gathered_goes_on_exactly(dtype: torch.dtype) -> None:
    losses = torch.rand(500, generator=torch.Generator().manual_seed(0)).to(dtype)

    def gather(curve: LossCurve, first: int, last: int) -> LossCurve:
        for step in range(first, last + 1):
            curve.add(step, losses[step - 1])
        return curve

    kept: dict[str, Any] = json.loads(json.dumps(gather(LossCurve(500), 1, 242).to_dict()))
    assert gather(LossCurve(500, kept), 243, 500).to_dict() == gather(LossCurve(500), 1, 500).to_dict()


def test_a_training_of_before_goes_on_with_an_empty_curve() -> None:
    assert gathered(LossCurve(500, None), 301, 310).steps == [305, 310]


def test_the_figure_draws_the_curve_between_validations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.axes import Axes

    drawn: dict[str, Any] = {}
    plot = Axes.plot

    def watched(self: Axes, x: Any, y: Any, *form: Any, **options: Any) -> Any:
        drawn[options["label"]] = (list(x), list(y))
        return plot(self, x, y, *form, **options)

    monkeypatch.setattr(Axes, "plot", watched)
    outcome = Outcome(400, history=[Validation(step, 0.1, 0.5, {"accuracy": 0.5}) for step in (200, 400)])
    curve = gathered(LossCurve(400), 1, 400)
    draw(tmp_path / "losses.png", outcome, "accuracy", curve)
    assert drawn == {"training loss": (curve.steps, curve.losses), "accuracy": ([200, 400], [0.5, 0.5])}
    assert (tmp_path / "losses.png").read_bytes().startswith(b"\x89PNG")


def test_a_loss_that_is_no_number_stays_json() -> None:
    curve = LossCurve(2)
    curve.add(1, torch.tensor(float("nan")))
    curve.add(2, torch.tensor(float("inf")))
    kept = json.loads(json.dumps(curve.to_dict(), allow_nan=False))
    assert kept["losses"] == ["nan", "inf"]
    assert LossCurve(2, kept).losses[1] == float("inf")
