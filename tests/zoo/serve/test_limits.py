"""`Limits` of the server."""

from typing import Any

import pytest

from zoo.errors import ConfigError
from zoo.serve.limits import AMOUNTS, Limits, amounts_of


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"max_batch": 0}, "max_batch=0: a limit is more than 0"),
        ({"max_wait": -1}, "max_wait=-1"),
        ({"max_queue": 3, "max_inputs": 4}, "a request of max_inputs=4 would never fit"),
    ],
)
def test_limits_that_let_nothing_pass_are_refused(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Limits(**given)


def test_amounts_change_by_unit() -> None:
    assert amounts_of(["pixels=5", "nodes=1_000"]) == AMOUNTS | {"pixels": 5, "nodes": 1000}
    for pair in ("pixel=5", "pixels", "pixels=-1"):
        with pytest.raises(ConfigError, match=f"--max '{pair}': write UNIT=NUMBER, with a unit of pixels, samples"):
            amounts_of([pair])
