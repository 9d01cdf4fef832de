"""Errors of Python's functions in the words of a command: `weights='a'` is `--weights 'a'` there."""

import re
from typing import Any

import click

_CALL = r"zoo\.[\w.]+\([^()]*\)"
"""Python that an error shows: its keywords stay."""


def in_options(text: str, command: Any = None) -> str:
    """Write the keywords of a text as the options of a command; those that it has no option for stay as they are.

    Keywords of `--set`, of a source (`?key=`) and of a part (`decoder.key=`) are none of the command's.

    Args:
        text: of an error or a warning.
        command: of click; by default the one that runs.
    """
    if command is None:
        command = getattr(click.get_current_context(silent=True), "command", None)
    flags = {
        _keyword(option): (option, off)
        for parameter in getattr(command, "params", ())
        for off in [next(iter(parameter.secondary_opts), None)]
        for option in parameter.opts
        if option.startswith("--")
    }
    if not flags:
        return text

    def written(found: re.Match[str]) -> str:
        option, off = flags.get(found["word"] or "", (None, None))
        if option is None or (found["value"] == "False" and off is None):
            return found[0]
        if found["value"] in ("True", "False"):
            return option if found["value"] == "True" else str(off)
        return f"{option} " if found["value"] is not None else option

    return re.sub(
        rf"{_CALL}|(?<![\w.?&:-])(?<!--set )(?P<word>\w+)=(?P<value>True\b|False\b|(?=[^\s,;:.)`]))?", written, text
    )


def _keyword(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")
