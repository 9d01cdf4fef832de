"""The values of a model's configuration as JSON holds them."""

from typing import Any


class Shown(str):
    """Text of an object that JSON cannot hold; the object cannot be made from it again."""


def plain(value: Any) -> Any:
    """Give a value as JSON can hold it; what it cannot hold becomes its text, marked as `Shown`."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return Shown(repr(value))


def is_shown(value: Any) -> bool:
    """Say whether a value that `plain` gave holds the text of an object."""
    if isinstance(value, list | dict):
        return any(is_shown(item) for item in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, Shown)
