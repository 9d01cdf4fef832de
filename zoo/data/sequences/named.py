"""Tasks on sequences by their text, as users write them: `mqar:16,128`, `induction:64`, `listops:lra`."""

from collections.abc import Callable, Mapping

from zoo.data.sequences.induction import Induction
from zoo.data.sequences.listops import ListOps
from zoo.data.sequences.neighbours import Neighbours
from zoo.data.sequences.pathfinder import Pathfinder
from zoo.data.sequences.recall import Recall
from zoo.data.sequences.selective_copy import SelectiveCopy
from zoo.data.sequences.task import SequenceTask
from zoo.errors import ConfigError
from zoo.names import did_you_mean

TASKS: Mapping[str, tuple[Callable[..., SequenceTask], tuple[str, ...]]] = {
    "mqar": (Recall, ("pairs", "length", "vocab_size")),
    "selective-copy": (SelectiveCopy, ("letters", "length", "alphabet")),
    "induction": (Induction, ("length", "alphabet")),
    "neighbours": (Neighbours, ("length", "symbols")),
    "pathfinder": (Pathfinder, ("size",)),
    "listops": (ListOps, ("shortest", "longest")),
}
"""Name to the class and what the numbers behind the colon are, of which the last may be left out."""
ARENA = "listops:lra"


def task_named(text: str) -> SequenceTask:
    """Make a task from its text.

    Raises:
        ConfigError: If there is no such task, or its numbers do not fit.
    """
    if text == ARENA:
        return ListOps.arena()
    name, _, argument = text.partition(":")
    if name not in TASKS:
        raise ConfigError(f"{text!r} is no task; there are {', '.join(TASKS)}.{did_you_mean(name, TASKS)}")
    make, takes = TASKS[name]
    numbers = argument.split(",") if argument else []
    if len(numbers) > len(takes) or not all(each.isdecimal() for each in numbers):
        raise ConfigError(f"{text!r}: it is {name}, or {name}:{','.join(takes).upper()} with numbers")
    try:
        return make(**dict(zip(takes, map(int, numbers), strict=False)))
    except ConfigError as error:
        raise ConfigError(f"{text!r}: {error}") from error
