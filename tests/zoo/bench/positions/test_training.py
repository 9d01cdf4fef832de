"""A training of the study of positions."""

from typing import Any

import numpy as np
import pytest

from zoo.bench.positions.report import moved, reached
from zoo.bench.positions.training import train


def config(position: str, **options: Any) -> dict[str, Any]:
    return {"position": position, "length": 8, "steps": 3, "learning_rate": 3e-3, "seed": 0} | options


@pytest.mark.parametrize("position", ["learned", "floater", "recurrent"])
def test_what_learns_moves_and_the_vectors_are_those_after_the_training(position: str) -> None:
    run = {"config": config(position)} | train(config(position))
    assert np.shape(run["vectors"]) == (8, 64)
    assert (moved(run) or 0) > 0


def test_sinusoids_stay_and_none_adds_nothing() -> None:
    still = train(config("sinusoidal"))
    assert still["vectors"] == still["drawn"]
    assert train(config("none"))["vectors"] is None


def test_only_learned_positions_end() -> None:
    assert train(config("learned"))["accuracy"].keys() == {8}
    assert train(config("floater"))["accuracy"].keys() == {8, 16}


@pytest.mark.slow
def test_positions_are_what_solves_the_task() -> None:
    scores = {}
    for position in ("sinusoidal", "recurrent", "none"):
        scores[position] = reached([train(config(position, length=16, steps=300))], 16) or 0
    assert min(scores["sinusoidal"], scores["recurrent"]) > 0.8 > 0.4 > scores["none"]
