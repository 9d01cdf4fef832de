"""`configured`: build a model from a frozen dataclass, and take its fields as keywords, as `zoo.create` gives them."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

P = ParamSpec("P")
Config = TypeVar("Config")
Made = TypeVar("Made")
Self = TypeVar("Self")


class configured(Generic[P, Config]):  # noqa: N801  a decorator
    """Decorate a function, or a constructor, whose last argument is a configuration, to take its fields instead.

    Args:
        config: the dataclass; its fields are keywords, and their defaults and annotations stand in the signature.
    """

    def __init__(self, config: Callable[P, Config]) -> None:
        self.config: Callable[..., Config] = config

    @overload
    def __call__(self, function: Callable[[Config], Made]) -> Callable[P, Made]: ...

    @overload
    def __call__(self, function: Callable[[Self, Config], Made]) -> Callable[Concatenate[Self, P], Made]: ...

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Give the function that takes keywords."""

        @wraps(function)
        def build(*own: Any, **fields: Any) -> Any:
            return function(*own, self.config(**fields))

        signature = inspect.signature(function)
        *kept, _ = signature.parameters.values()
        fields = inspect.signature(self.config).parameters.values()
        build.__signature__ = signature.replace(parameters=[*kept, *fields])  # type: ignore[attr-defined]
        return build
