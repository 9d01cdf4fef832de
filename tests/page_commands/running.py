"""Commands in this process, with little data, and what is typed or piped into them."""

import os
import runpy
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from glob import glob
from importlib import import_module
from inspect import unwrap
from pathlib import Path

import pytest

from tests.page_commands.short import DRAWN, PIPED, SMALL, TYPED, shortened
from zoo.cli.app import build


@contextmanager
def standard_input(content: bytes, path: Path) -> Iterator[None]:
    """Let standard input be a file."""
    path.write_bytes(content)
    before, given = os.dup(0), os.open(path, os.O_RDONLY)
    os.dup2(given, 0)
    sys.stdin, usual = os.fdopen(0, closefd=False), sys.stdin
    try:
        yield
    finally:
        sys.stdin = usual
        os.dup2(before, 0)
        os.close(before)
        os.close(given)


def make_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few examples be drawn."""
    for name, value in SMALL.items():
        module, _, constant = name.rpartition(".")
        monkeypatch.setattr(import_module(module), constant, value)
    for drawn in DRAWN:
        module, _, source = drawn.rpartition(".")
        make = getattr(import_module(module), source).__init__
        monkeypatch.setitem(unwrap(make).__kwdefaults__, "held_out", (20, 20))
    forget()


def forget() -> None:
    """Forget what was drawn, since it is kept by its seed, whatever its size."""
    for name in (*SMALL, *DRAWN):
        for value in vars(import_module(name.rpartition(".")[0])).values():
            if callable(clear := getattr(value, "cache_clear", None)):
                clear()


class Commands:
    """Run commands in this process, as a shell does: a command to its error, mostly none.

    Args:
        typed: a file in which to keep what is on standard input.
    """

    def __init__(self, typed: Path) -> None:
        self.typed = typed

    def __call__(self, command: str) -> str:
        """Run the last of the commands that a pipe joins; those before it give what it reads."""
        *before, last = command.split(" | ")
        given = next((TYPED[each] for each in TYPED if fnmatchcase(command, each)), "").encode()
        for each in before:
            given = spoken(*shlex.split(each))
        words = list(expanded(shlex.split(last.removeprefix("uv run "))))
        with pytest.MonkeyPatch.context() as patch, standard_input(given, self.typed):
            return ended(words, patch)


def spoken(program: str, *words: str) -> bytes:
    """Give what a program before a pipe writes, or a file in its place."""
    if program == "espeak-ng" and shutil.which(program):
        return subprocess.check_output([program, *words])
    return Path(PIPED[program]).read_bytes()


def expanded(words: Iterable[str]) -> Iterator[str]:
    """Give words with the files and the variables that they stand for, and a folder here in place of one of all."""
    for word in words:
        here = os.path.expandvars(word).replace("/shared/", "shared/")
        yield from sorted(glob(here)) if here.startswith("*.") else [here]


def ended(words: list[str], patch: pytest.MonkeyPatch) -> str:
    """Run a program of Python, or `zoo`; give how it ended, if badly."""
    program, *given = words
    patch.setattr(sys, "argv", given if program == "python" else words)
    try:
        if program == "python":
            exec(given[1], {}) if given[0] == "-c" else runpy.run_path(given[0], run_name="__main__")
            return ""
        code = build()(given, standalone_mode=False)
    except (Exception, SystemExit) as error:
        return "" if isinstance(error, SystemExit) and not error.code else f"{type(error).__name__}: {error}"
    return f"code {code}" if code else ""


def run_all(every: Iterable[str], run: Callable[[str], str]) -> tuple[list[tuple[str, str]], str]:
    """Run commands one after another; give those that fail, with their errors, and the processor time of each."""
    wrong, seconds = [], []
    for command in every:
        begun = time.process_time()
        if error := run(shortened(command)):
            wrong.append((command, error))
        seconds.append(f"{time.process_time() - begun:6.1f} s  {command}\n")
    return wrong, "".join(seconds)
