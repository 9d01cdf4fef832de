"""Reading of inputs one by one, and the report of those that were skipped: how many, which, and why."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from zoo.errors import InputError

_SHOWN = 100
Read = TypeVar("Read")


class Skipped(NamedTuple):
    """An example that was skipped, and why."""

    name: str
    why: str
    place: int | None = None
    """In the list that was given, where there was one."""


def list_skipped(skipped: Sequence[Skipped], total: int, what: str, count: int | None = None) -> str:
    """Count the skipped examples and list them, a line each, the first hundred.

    Args:
        skipped: the first of them.
        total: examples there are.
        what: they are called.
        count: how many are skipped, where that is more.
    """
    count = len(skipped) if count is None else count
    lines = [f"  {each.name}: {each.why.removeprefix(f'{each.name!r}: ')}" for each in skipped[:_SHOWN]]
    more = [f"  and {count - len(lines):,} more"] if count > len(lines) else []
    return "\n".join([f"{count:,} of {total:,} {what} are skipped:", *lines, *more])


def read_each(
    inputs: Any,
    read: Callable[[Any], Read],
    name_of: Callable[[Any, int], str],
    what: str,
    *,
    several: bool,
    skipped: list[Skipped] | None,
) -> list[Read]:
    """Read raw inputs one by one, for `zoo.preprocess`.

    Args:
        inputs: a list of them, or one.
        read: reads one.
        name_of: names one, from it and its place in the list.
        what: one is called, such as `sound`.
        several: whether `inputs` is a list.
        skipped: gets what cannot be read, with a warning that counts and names it; None if nothing is skipped.

    Raises:
        InputError: If one cannot be read and is not skipped, or none is left.
    """
    given = list(inputs) if several else [inputs]
    kept: list[Read] = []
    for place, each in enumerate(given):
        try:
            kept.append(read(each))
        except InputError as error:
            if skipped is None:
                raise type(error)(f"{what} {place}: {error}" if len(given) > 1 else str(error)) from error
            skipped.append(Skipped(name_of(each, place), str(error), place))
    if skipped:
        warnings.warn(list_skipped(skipped, len(given), f"{what}s"), stacklevel=3)
    if not kept:
        raise InputError(f"no {what} can be read, of {len(given)}" if given else f"an empty list of {what}s")
    return kept
