import warnings
from typing import Any

import pytest
import torch

from zoo.training.callbacks.data_wait import WarnOfDataWait
from zoo.training.resume.train_state import Outcome

LOSS = torch.zeros(())


def train(callback: WarnOfDataWait, waiting: float, steps: int = 100, first: float = 0.0, before: float = 0.0) -> None:
    """Do steps of 100 ms, of which so many seconds are waiting, and more of the first and of those before."""
    outcome = Outcome(seconds=before, waiting=before)
    callback.on_start(outcome)
    for step in range(steps):
        outcome.seconds += 0.1 + first * (step == 0)
        outcome.waiting += waiting + first * (step == 0)
        callback.on_step(step + 1, LOSS)


@pytest.mark.parametrize(
    ("workers", "cacheable", "remedy"),
    [
        (0, False, "workers=0; --workers 4 prepares more of them ahead"),
        (1, True, "workers=1; --workers 4 prepares more of them ahead, --cache keeps them decoded"),
        (4, True, "workers=4; --cache keeps them decoded"),
        (4, False, "workers=4; smaller inputs or more processors would help"),
    ],
)
def test_much_waiting_is_told_once_with_what_helps(workers: int, cacheable: bool, remedy: str) -> None:
    with pytest.warns(UserWarning, match="30% of the") as told:
        train(WarnOfDataWait(workers, 4, cacheable), waiting=0.03, steps=500)
    assert [str(each.message) for each in told] == [f"30% of the training's time is waiting for data: {remedy}"]


@pytest.mark.parametrize(
    "run",
    [
        {"waiting": 0.019},  # less than a fifth
        {"waiting": 0.09, "steps": 40},  # too few
        {"waiting": 0.0, "first": 30.0},  # workers start
        {"waiting": 0.01, "before": 90.0},  # before the training was resumed
    ],
)
def test_little_or_short_waiting_is_not_told(run: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(WarnOfDataWait(0, processors=4), **run)
