import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from zoo.bench import Study
from zoo.bench.learning_curve.decide import decide
from zoo.errors import ConfigError

MakeStudy = Callable[..., Study]
SIZES = (100, 300, 1000, 3000)
SLOW = [0.3, 0.35, 0.4, 0.45]
POWER = [1 - 3 * size**-0.4 for size in SIZES]
"""Accuracy .878 at 3,000 examples; .92 takes about 8,600."""


def timed(study: Study, seconds: float = 36.0) -> Study:
    return replace(study, records=[{**record, "seconds": seconds} for record in study.records])


def test_labels_rounds_and_the_held_out_error_are_told(make_study: MakeStudy) -> None:
    found = make_study(SLOW, POWER).decision(0.92)
    assert found.best
    assert found.best.name == "vit"
    assert found.best.size
    assert found.best.size.low < 8600 < found.best.size.high
    assert found.rounds[0] <= 6000
    assert found.rounds[-1] == math.ceil(min(found.best.size.high, 30000))
    first = found.lines[0]
    assert first.startswith("For accuracy 0.92: about ")
    assert " more labels (95 %: " in first
    assert " with vit, " in first
    assert " rounds of " in first
    selection = found.best.selection
    assert selection
    family = selection.chosen.fits.family
    assert (
        f"Curve of vit: {family.name}, err(N) = {family.formula}. Fitted without the largest size" in (found.lines[1])
    )
    assert f"held-out error is {abs(selection.predicted - selection.measured):.3f}." in found.lines[1]
    assert any(line.startswith("Others: cnn") for line in found.lines)
    assert found.cost is None


def test_a_target_that_is_reached_takes_no_labels(make_study: MakeStudy) -> None:
    found = make_study(SLOW, POWER).decision(0.75)
    assert found.best
    assert (found.best.name, found.best.expected, found.rounds) == ("vit", 1000, [])
    assert found.lines[0].startswith("Accuracy 0.75 is reached: vit has 0.8")
    assert found.lines[0].endswith("with 1,000 training examples. No more labels are needed.")
    assert len(found.lines) == 1
    unsure = make_study(SLOW, POWER).decision(0.8)
    assert "Its interval reaches beyond the target" in unsure.lines[1]


def test_nothing_is_promised_beyond_ten_times_the_data_without_a_warning(make_study: MakeStudy) -> None:
    found = make_study(SLOW, POWER).decision(0.962)
    assert found.best
    assert found.best.expected > 30000
    assert found.rounds[-1] == 30000
    assert any(
        "Warning: The estimate lies beyond 30,000 examples, 10 times the largest" in line for line in found.lines
    )


def test_a_target_out_of_reach_is_told_with_what_is_reachable(make_study: MakeStudy) -> None:
    found = make_study([0.4, 0.55, 0.595, 0.6], SLOW).decision(0.99)
    assert (found.best, found.rounds) == (None, [])
    assert found.lines[0].startswith("No model is expected to reach accuracy 0.99 with up to ")
    assert "The best expected at 30,000 examples, 10 times the largest size measured, is 0." in found.lines[0]
    assert not any("not refuted" in line for line in found.lines)
    few = make_study([0.3, 0.45, 0.5], SLOW[:3], sizes=(100, 300, 1000)).decision(0.8)
    assert few.best is None
    assert "not refuted" in few.lines[1]


def test_curves_that_rise_or_stay_at_chance_are_not_followed(make_study: MakeStudy) -> None:
    study = make_study([0.3, 0.5, 0.35, 0.4], [0.1] * 4)
    found = replace(study, data=replace(study.data, chance=0.1)).decision(0.9)
    assert found.best is None
    assert found.lines == [
        "Nothing can be said about labels for accuracy 0.9: cnn has an error that rises from 300 to 1,000 examples: "
        "no such curve is extrapolated; vit has no finished run above chance."
    ]


def test_labels_and_training_are_paid(make_study: MakeStudy) -> None:
    study = timed(make_study(SLOW, POWER))
    found = study.decision(0.92, label_cost=0.08, hour_cost=2.0)
    assert found.best
    assert found.cost
    assert found.cost.labels
    assert found.cost.labels.value == pytest.approx(0.08 * (found.best.expected - 3000))
    assert found.cost.training
    assert found.cost.training.value == pytest.approx(2 * found.cost.hours.value)
    assert found.lines[1].startswith(f"Cost: {found.cost.labels.value:,.0f} (")
    assert "of training, 3 runs after each round" in found.lines[1]
    alone = study.decision(0.92, label_cost=0.08).lines[1]
    assert "training" not in alone


def test_steps_and_seconds_are_those_of_the_study(make_study: MakeStudy) -> None:
    """10 steps in 36 s; the rule gives no size more than the study's 10, so that a run takes 36 s at any size."""
    found = timed(make_study(SLOW, POWER)).decision(0.92, hour_cost=1.0)
    assert found.best
    trained = sum(size <= math.ceil(found.best.expected) for size in found.rounds)
    assert found.cost
    assert found.cost.hours.value == pytest.approx(3 * 36 * trained / 3600)
    assert any("Warning: the rule for steps gives a training 10 steps of 32" in line for line in found.lines)


def test_the_cheapest_model_is_chosen_where_there_are_prices(make_study: MakeStudy) -> None:
    study = make_study([1 - 1.3 * (1 - value) for value in POWER], POWER)
    slow = [{**r, "seconds": 1.0 if r["config"]["model"] == "cnn" else 1e6} for r in study.records]
    study = replace(study, records=slow)
    best = [study.decision(0.92, **prices).best for prices in ({}, {"hour_cost": 100.0})]
    assert [each and each.name for each in best] == ["vit", "cnn"]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (1.2, r"target=1.2: accuracy is at most 1$"),
        (95.0, r"target=95: accuracy is at most 1; 95 % is 0.95"),
        (math.nan, "target=nan: accuracy is at most 1"),
        (0.05, r"target=0.05: always answering the largest class gives accuracy 0.100; choose a target above that"),
        (0.1, "target=0.1: always answering"),
    ],
)
def test_a_target_that_no_model_needs_or_may_reach_is_refused(make_study: MakeStudy, target: float, text: str) -> None:
    study = make_study(SLOW, POWER)
    with pytest.raises(ConfigError, match=text):
        decide(replace(study, data=replace(study.data, chance=0.1)), target)


def test_a_loss_has_a_target_below(make_study: MakeStudy) -> None:
    study = make_study(SLOW, POWER)
    rng = np.random.default_rng(0)
    losses: list[dict[str, Any]] = []
    for record in study.records:
        loss = 40 * record["config"]["size"] ** -0.5 * (1 if record["config"]["model"] == "vit" else 2)
        losses.append({"config": record["config"], "score": -loss * rng.normal(1, 0.01)})
    study = replace(study, data=replace(study.data, metric="-loss", best=0.0, reference=None), records=losses)
    found = study.decision(0.5)
    assert found.best
    assert found.best.name == "vit"
    assert found.best.expected == pytest.approx(6400, rel=0.1)
    assert found.lines[0].startswith("For loss 0.5: about ")
    assert study.decision(1.0).lines[0].startswith("Loss 1 is reached: vit has 0.7")
    with pytest.raises(ConfigError, match="target=-1: loss is at least 0"):
        study.decision(-1.0)
