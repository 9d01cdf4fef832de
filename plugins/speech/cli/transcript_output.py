"""How `zoo transcribe --stream` tells what is said: as text, as words with times, or as JSON.

What is told is flushed at once, so that it is read while it is said, through a pipe too. Nothing heavy is imported.
"""

import json
import sys
from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from zoo.plugins.speech.cli.word_timestamps import Said, Word

AGAIN = "\r\x1b[K"
"""Takes back the line that is written."""


class Teller(ABC):
    """Tell what is said."""

    @abstractmethod
    def say(self, said: "Said") -> None:
        """Tell what is new."""

    @abstractmethod
    def end(self) -> None:
        """End what was begun."""


class Running(Teller):
    """Tell text, each piece as soon as it is spelled."""

    def say(self, said: "Said") -> None:
        """See `Teller.say`."""
        if said.text:
            typer.echo(said.text, nl=False)

    def end(self) -> None:
        """See `Teller.end`."""
        typer.echo()


class Timed(Teller):
    """Tell a line for each word, with its seconds, when it is complete.

    Args:
        live: whether the word that may go on is shown, and written anew: on a terminal.
    """

    def __init__(self, live: bool) -> None:
        self.live = live
        self.shown = ""

    def say(self, said: "Said") -> None:
        """See `Teller.say`."""
        rows = [line_of(word) for word in said.words]
        unfinished = line_of(said.open) if self.live and said.open is not None else ""
        if rows or unfinished != self.shown:
            back = AGAIN if self.shown else ""
            typer.echo(back + "".join(f"{row}\n" for row in rows) + unfinished, nl=False, color=self.live)
        self.shown = unfinished

    def end(self) -> None:
        """See `Teller.end`."""


class Lines(Teller):
    """Tell a line of JSON for each word, when it is complete."""

    def say(self, said: "Said") -> None:
        """See `Teller.say`."""
        for word in said.words:
            typer.echo(json.dumps(asdict(word), ensure_ascii=False))

    def end(self) -> None:
        """See `Teller.end`."""


def teller(timestamps: bool, as_json: bool) -> Teller:
    """Choose how it is told."""
    if as_json:
        return Lines()
    return Timed(sys.stdout.isatty()) if timestamps else Running()


def line_of(word: "Word") -> str:
    """Write a word behind the seconds at which it begins and ends."""
    return f"{word.start_ms / 1000:.2f}\t{word.end_ms / 1000:.2f}\t{word.word}"
