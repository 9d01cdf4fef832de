"""Choice of a learning rate: by validation, never by the test."""

from typing import Any

from zoo.bench.attention.choice import chosen
from zoo.bench.grid.engine import Record


def run(rate: float, validation: float, steps: int = 50, test: float = 0.5) -> dict[str, Any]:
    config = {"learning_rate": rate}
    return {"config": config, "looks": [[25, 0.9], [steps, validation]], "accuracy": {"8": test}}


def rates(runs: list[Record]) -> list[float]:
    return [each["config"]["learning_rate"] for each in runs]


def test_the_last_validation_decides_whatever_the_test_says() -> None:
    assert rates(chosen([run(0.1, 0.3, test=1.0), run(0.2, 0.4, test=0.0)])) == [0.2]


def test_of_equal_ones_the_one_that_took_fewer_steps_is_chosen() -> None:
    assert rates(chosen([run(0.1, 1.0, 50), run(0.2, 1.0, 40)])) == [0.2]


def test_a_rate_of_which_a_seed_is_missing_is_not_chosen() -> None:
    assert rates(chosen([run(0.1, 0.3), run(0.1, 0.3), run(0.2, 0.9)])) == [0.1, 0.1]
