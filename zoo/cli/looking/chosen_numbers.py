"""Options `--layers` and `--heads`: numbers from 1 and ranges of them, such as `1,3-5`."""

from collections.abc import Iterable
from typing import Annotated

import typer

from zoo.errors import ConfigError

_NUMBERS = "Numbers from 1, such as 1,3 or 2-4; all by default; repeatable."
Layers = Annotated[
    list[str] | None, typer.Option("--layers", "--layer", help=f"Only these layers. {_NUMBERS}", show_default=False)
]
Heads = Annotated[
    list[str] | None, typer.Option("--heads", "--head", help=f"Only these heads. {_NUMBERS}", show_default=False)
]


def numbers(option: str, given: Iterable[str] | None) -> tuple[int, ...]:
    """Read numbers such as `1,3` or `2-4`, each once.

    Args:
        option: for an error.
        given: what was written behind each option; nothing means all.

    Raises:
        ConfigError: If they are none.
    """
    found: list[int] = []
    for text in given or ():
        for word in text.split(",") if text.strip() else ():
            first, dash, last = word.strip().partition("-")
            if not first.isdecimal() or (dash and not last.isdecimal()):
                raise ConfigError(f"{option} {text}: {word!r} is neither a number nor a range such as 2-4")
            if dash and int(last) < int(first):
                raise ConfigError(f"{option} {text}: the range {word.strip()} ends before it begins")
            found += range(int(first), int(last or first) + 1)
    return tuple(dict.fromkeys(found))
