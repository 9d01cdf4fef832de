"""Functions and constructors that take the fields of a configuration as keywords."""

import inspect
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from zoo.core.models.configured import configured


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Two numbers."""

    dim: int = 8
    eps: float = 1e-5


@configured(Sizes)
def made(config: Sizes) -> tuple[int, float]:
    """Give what it got."""
    return config.dim, config.eps


class Made:
    @configured(Sizes)
    def __init__(self, config: Sizes) -> None:
        self.config = config


def test_a_function_gets_the_configuration_of_its_keywords() -> None:
    assert made() == (8, 1e-5)
    assert made(eps=1.0, dim=3) == (3, 1.0)
    assert made.__doc__ == "Give what it got."
    assert Made(dim=3).config == Sizes(dim=3)


@pytest.mark.parametrize("function", [made, Made])
def test_the_signature_is_that_of_the_configuration(function: Any) -> None:
    parameters = inspect.signature(function).parameters
    assert [(p.name, p.default, p.annotation) for p in parameters.values()] == [("dim", 8, int), ("eps", 1e-5, float)]
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters.values())


@pytest.mark.parametrize("function", [made, Made])
def test_an_unknown_keyword_is_named(function: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'width'"):
        partial(function, width=3)()
