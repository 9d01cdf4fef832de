from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import zoo
from zoo.training import Callback, Outcome, Request

OPTIONS: dict[str, Any] = {"steps": 12, "batch_size": 8, "precision": "32-true", "accelerator": "cpu"}


class Hears(Callback):
    """Write down what is called, and perhaps end the training once a step has come."""

    def __init__(self, end: int = 100) -> None:
        self.end, self.calls, self.step = end, list[Any](), 0

    def on_start(self, outcome: Outcome) -> None:
        self.calls.append(("start", outcome.steps))

    def on_step(self, step: int, loss: Tensor) -> None:
        self.step = step
        self.calls.append(("step", step))

    def on_validation(self, outcome: Outcome) -> None:
        self.calls.append(("validation", outcome.history[-1].step))

    def on_end(self, outcome: Outcome, scores: Mapping[str, float]) -> None:
        self.calls.append(("end", outcome.ended, *scores))

    def request(self) -> Request:
        return Request(finish=self.step >= self.end)


def test_a_callback_hears_of_start_steps_validations_and_end(quadrants: Any, tiny: dict[str, Any]) -> None:
    heard = Hears()
    zoo.train("vit-micro", quadrants, callbacks=[heard], validations=2, **OPTIONS, **tiny)
    steps: list[Any] = [("step", step) for step in range(1, 13)]
    assert heard.calls == [
        ("start", 0), *steps[:6], ("validation", 6), *steps[6:], ("validation", 12),
        ("end", "all steps", "accuracy", "loss"),
    ]  # fmt: skip


def test_a_callback_ends_a_training_for_good(quadrants: Any, tiny: dict[str, Any], tmp_path: Path) -> None:
    options = OPTIONS | tiny | {"validations": 1, "out": tmp_path / "out"}
    ended = zoo.train("vit-micro", quadrants, callbacks=[Hears(end=5)], **options)
    assert (ended.outcome.steps, ended.outcome.ended) == (6, "a callback")  # it is asked before each step
    assert [entry.step for entry in ended.outcome.history] == [6]
    assert ended.scores["accuracy"] >= 0
    again = zoo.train("vit-micro", quadrants, resume=True, **options)
    assert again.was_finished
    assert again.scores == ended.scores
    assert all(torch.equal(x, again.model.state_dict()[key]) for key, x in ended.model.state_dict().items())


def test_a_callback_stops_a_training_that_goes_on_later(quadrants: Any, tiny: dict[str, Any], tmp_path: Path) -> None:
    class Stops(Hears):
        def request(self) -> Request:
            return Request(stop=self.step >= 5)

    options = OPTIONS | tiny | {"validations": 2}
    whole = zoo.train("vit-micro", quadrants, **options)
    stops = Stops()
    stopped = zoo.train("vit-micro", quadrants, out=tmp_path / "out", callbacks=[stops], **options)
    assert stops.calls[-1] == ("end", "asked to")
    assert not stopped.scores
    heard = Hears()
    resumed = zoo.train("vit-micro", quadrants, out=tmp_path / "out", callbacks=[heard], resume=True, **options)
    assert heard.calls[:2] == [("start", 6), ("step", 7)]
    assert all(torch.equal(x, resumed.model.state_dict()[key]) for key, x in whole.model.state_dict().items())


@pytest.mark.parametrize("schedule", ["constant", "linear", "noam", "one-cycle", "trapezoid"])
def test_a_training_goes_on_bit_for_bit_with_every_schedule_and_accumulation(
    quadrants: Any, tiny: dict[str, Any], tmp_path: Path, schedule: str
) -> None:
    class Stops(Hears):
        def request(self) -> Request:
            return Request(stop=self.step >= 2)

    optimizer = "adam" if schedule == "noam" else "sgd"
    options = OPTIONS | tiny | {
        "steps": 6, "validations": 2, "schedule": schedule, "optimizer": optimizer, "accumulate": 2, "clip": 0.5,
        "dropout": 0.2,
    }  # fmt: skip
    whole = zoo.train("vit-micro", quadrants, **options)
    zoo.train("vit-micro", quadrants, out=tmp_path / "out", callbacks=[Stops()], **options)
    resumed = zoo.train("vit-micro", quadrants, out=tmp_path / "out", resume=True, **options)
    assert all(torch.equal(x, resumed.model.state_dict()[key]) for key, x in whole.model.state_dict().items())
    assert [entry.loss for entry in resumed.outcome.history] == [entry.loss for entry in whole.outcome.history]


def test_the_earlier_call_works_and_warns(quadrants: Any, tiny: dict[str, Any], tmp_path: Path) -> None:
    options = OPTIONS | tiny | {"steps": 1}
    with pytest.warns(DeprecationWarning, match=r"write zoo.train\(name, train, out=FOLDER\)"):
        placed = zoo.train("vit-micro", quadrants, tmp_path / "placed", **options)
    assert placed.folder == tmp_path / "placed"
    with pytest.warns(DeprecationWarning, match=r"write zoo.train\(name, train, out=FOLDER\)"):
        named = zoo.train("vit-micro", data=quadrants, out=tmp_path / "named", **options)
    assert named.folder == tmp_path / "named"


def test_parts_beside_data_that_have_their_own_are_refused(quadrants: Any) -> None:
    with pytest.raises(zoo.ConfigError, match=r"validation=\[\(1, 2\)\] with the corpus 'quadrants', which has parts"):
        zoo.train("vit-micro", quadrants, [(1, 2)])
