"""The tasks of `zoo bench attention`, those of the user's own data among them: `text:FILE` and what `--data` opens."""

from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from zoo.bench.attention.labelled_texts import LabelledTexts
from zoo.bench.attention.text_file import LENGTH, TextFile
from zoo.data.sequences import SequenceTask
from zoo.data.sequences.named import TASKS, task_named
from zoo.errors import ConfigError

TEXT = "text"


def is_own(text: str) -> bool:
    """Tell whether a task is of the user's own data."""
    return ":" in text and text.partition(":")[0] not in TASKS


@lru_cache
def task_of(text: str) -> SequenceTask:
    """Make a task: a rule by its name, or one of the user's data, whose length may stand behind a comma.

    Raises:
        ConfigError: If there is no such task, or its numbers do not fit.
        DataError: If the data cannot be read, or are too few.
    """
    if not is_own(text):
        return task_named(text)
    place, length = split_length(text)
    kind, _, path = place.partition(":")
    return TextFile(Path(path), length) if kind == TEXT else LabelledTexts(place, length)


def parts_of(task: SequenceTask) -> tuple[SequenceTask, SequenceTask, SequenceTask]:
    """Give what is trained, validated and tested on; where sequences are drawn without end, each from its own seed."""
    if isinstance(task, TextFile | LabelledTexts):
        return task, task.of_part(1), task.of_part(2)
    return task, task, task


def content_of(text: str) -> str:
    """Give a text that changes when the data behind a task do.

    Raises:
        DataError: If they cannot be read.
    """
    task = task_of(text)
    assert isinstance(task, TextFile | LabelledTexts)
    return sha256(task.content.encode()).hexdigest()[:16]


def split_length(text: str) -> tuple[str, int]:
    """Part `text:notes.txt,512` into what is opened and the length, which is 256 where none is given.

    Raises:
        ConfigError: If the length is 0.
    """
    place, comma, last = text.rpartition(",")
    if not comma or not last.isdecimal():
        return text, LENGTH
    if not int(last):
        raise ConfigError(f"{text!r}: the length behind the comma is at least 1")
    return place, int(last)
