"""`deprecated`: names that still work, and warn of when they go and what takes their place."""

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def deprecated(since: str, until: str, instead: str) -> Callable[[F], F]:
    """Mark a function, method or class as deprecated: each call gives a `DeprecationWarning` at the caller's line.

    Below `@property` and `@classmethod`, where those are.

    Args:
        since: version in which its place was taken.
        until: version in which it goes.
        instead: what to write.
    """

    def mark(old: F) -> F:
        text = f"{old.__qualname__} is deprecated since {since} and goes in {until}: write {instead}"
        note = f"\n\nDeprecated since {since}, until {until}: write {instead}."
        if inspect.isclass(old):
            _warn_when_made(old, text)
            old.__doc__ = (old.__doc__ or "") + note
            return old

        @functools.wraps(old)
        def warning(*args: Any, **options: Any) -> Any:
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return old(*args, **options)

        warning.__doc__ = (old.__doc__ or "") + note
        warning.__deprecated__ = text  # type: ignore[attr-defined]  # as PEP 702 names it, for type checkers and editors
        return warning  # type: ignore[return-value]

    return mark


def _warn_when_made(old: type[Any], text: str) -> None:
    begin = old.__init__

    @functools.wraps(begin)
    def warning(self: Any, *args: Any, **options: Any) -> None:
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        begin(self, *args, **options)

    old.__init__ = warning
    old.__deprecated__ = text
