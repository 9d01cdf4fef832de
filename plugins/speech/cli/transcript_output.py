"""Output of `zoo transcribe --stream`: text, words with times, or JSON.

It is flushed at once, through a pipe too. Imports nothing heavy.
"""

import json
import sys
from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from zoo.plugins.speech.cli.word_timestamps import PartialTranscript, Word

AGAIN = "\r\x1b[K"
"""Erases the present line of a terminal."""


class TranscriptOutput(ABC):
    """Prints a transcript that grows."""

    @abstractmethod
    def write(self, partial: "PartialTranscript") -> None:
        """Print what is new."""

    @abstractmethod
    def end(self) -> None:
        """End the output."""


class TextOutput(TranscriptOutput):
    """Prints text piece by piece."""

    def write(self, partial: "PartialTranscript") -> None:
        if partial.text:
            typer.echo(partial.text, nl=False)

    def end(self) -> None:
        typer.echo()


class TimedOutput(TranscriptOutput):
    """Prints a line for each complete word, with its start and end in seconds.

    Args:
        overwrite: whether the incomplete word is shown too, and overwritten: on a terminal.
    """

    def __init__(self, overwrite: bool) -> None:
        self.overwrite = overwrite
        self.shown = ""

    def write(self, partial: "PartialTranscript") -> None:
        rows = [line_of(word) for word in partial.words]
        unfinished = line_of(partial.open) if self.overwrite and partial.open is not None else ""
        if rows or unfinished != self.shown:
            back = AGAIN if self.shown else ""
            typer.echo(back + "".join(f"{row}\n" for row in rows) + unfinished, nl=False, color=self.overwrite)
        self.shown = unfinished

    def end(self) -> None:
        pass


class JsonOutput(TranscriptOutput):
    """Prints a line of JSON for each complete word."""

    def write(self, partial: "PartialTranscript") -> None:
        for word in partial.words:
            typer.echo(json.dumps(asdict(word), ensure_ascii=False))

    def end(self) -> None:
        pass


def output_for(timestamps: bool, as_json: bool) -> TranscriptOutput:
    """Choose the output."""
    if as_json:
        return JsonOutput()
    return TimedOutput(sys.stdout.isatty()) if timestamps else TextOutput()


def line_of(word: "Word") -> str:
    """Format a word: start and end in seconds, and the word."""
    return f"{word.start_ms / 1000:.2f}\t{word.end_ms / 1000:.2f}\t{word.word}"
