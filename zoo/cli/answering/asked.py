"""`Asked`: inputs of a command as they are read, and those that cannot be, which the others do not wait for."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

import typer

from zoo.cli.arguments import Undecoded
from zoo.cli.option_names import in_options
from zoo.errors import ConfigError, InputError
from zoo.names import counted


class Asked:
    """Inputs as they are read, and a count of those that cannot be.

    Args:
        lines: of the inputs.
        batch_size: inputs computed together: with 1, none is read before another is answered.
        pairs: whether each is two.
        blank: whether a blank line can be read, as a prompt can.
    """

    def __init__(self, lines: Iterator[str], batch_size: int, pairs: bool = False, blank: bool = False) -> None:
        first = list(islice(lines, 2)) if batch_size > 1 else []
        self.lines, self.pairs, self.blank, self.counts = chain(first, lines), pairs, blank, Counter[str]()
        self.skip = None if len(first) == 1 else self._skip

    def given(self) -> Iterator[Any]:
        """Give the inputs, counted.

        Raises:
            ConfigError: If one is no pair, and should be.
            InputError: If the only one is no UTF-8.
        """
        for line in self.lines:
            self.counts["all"] += 1
            if not line.strip() and not self.blank and self.skip is not None:
                self.skip(line, InputError("there is nothing to read"))
                continue
            if isinstance(line, Undecoded):
                if self.skip is None:
                    raise InputError(line.fault)
                self.skip(line, InputError(line.fault))
                continue
            pair = tuple(line.split("\t"))
            if self.pairs and len(pair) != 2:
                raise ConfigError(f"--pairs: input {self.counts['all']}, {line!r}, is not two with a tab between")
            yield pair if self.pairs else line

    @contextmanager
    def skipping(self, line: Any) -> Iterator[None]:
        """Skip an input that turns out to be unreadable while it is answered.

        Raises:
            InputError: If it is the only input.
        """
        try:
            yield
        except InputError as error:
            if self.skip is None:
                raise
            self.skip(line, error)

    def _skip(self, line: Any, error: InputError) -> None:
        self.counts["skipped"] += 1
        typer.echo(f"zoo: skipped {line!r}: {in_options(str(error))}", err=True)

    def end(self) -> None:
        """Tell what was skipped, with exit code 1.

        Raises:
            InputError: If all was.
        """
        total = counted(self.counts["all"], "input")
        if self.counts["skipped"] == self.counts["all"]:
            raise InputError(f"no input can be read, of {total}")
        if self.counts["skipped"]:
            typer.echo(f"zoo: {self.counts['skipped']} of {total} skipped", err=True)
            raise typer.Exit(1)
