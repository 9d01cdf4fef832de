from collections.abc import Iterator
from typing import Any

import pytest
import torch

from zoo.core import Cost, Full, Problem, add_backend, attend, plan
from zoo.core.backends import BACKENDS
from zoo.core.backends.reference import Reference
from zoo.core.errors import ConfigError

SIZES: dict[str, Any] = {"queries": 7, "keys": 7, "heads": 2, "head_dim": 4}


class Free(Reference):
    """The reference at no cost, for heads of four channels."""

    name = "free"
    called = 0

    def refuses(self, problem: Problem) -> str | None:
        return None if problem.head_dim == 4 else "heads have four channels"

    def cost(self, problem: Problem) -> Cost:
        return Cost(0, 0, "costs nothing")

    def run(self, call: Any) -> Any:
        Free.called += 1
        return super().run(call)


class Other(Free):
    """Another backend of the same name."""


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = dict(BACKENDS)
    yield
    BACKENDS.clear()
    BACKENDS.update(before)
    add_backend(BACKENDS["reference"])  # forgets what was planned


def test_a_backend_that_was_added_is_planned_for_and_used() -> None:
    assert plan(Full(), **SIZES).backend != "free"
    add_backend(Free())
    assert plan(Full(), **SIZES).backend == "free"
    assert plan(Full(), **{**SIZES, "head_dim": 8}).backend != "free"
    q, k, v = torch.randn(3, 1, 7, 2, 4)
    before = Free.called
    torch.testing.assert_close(attend(q, k, v), attend(q, k, v, backend="reference"))
    assert Free.called == before + 1


def test_the_same_backend_may_be_added_again_and_another_may_not_take_its_name() -> None:
    add_backend(Free())
    add_backend(Free())
    with pytest.raises(ConfigError, match="'free' already"):
        add_backend(Other())
    with pytest.raises(ConfigError, match="object is no backend: it lacks name, refuses, cost, run"):
        add_backend(object())
