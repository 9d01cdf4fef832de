"""Word of a slow import reaches a terminal, and nothing else."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import zoo

SCRIPT = """
import sys, threading, time
sys.path.insert(0, {folder!r})
from zoo.cli import starting
asked = threading.Event()
def tell(usual=starting._tell):
    usual()
    asked.set()
starting._tell = tell
starting.tell_if_slow(0.1)
{work}
"""
SLOW = "import __main__\n__main__.asked.wait({seconds})\n"
LONG = 60.0
"""Seconds in which the timer goes off however busy the machine is."""


def told(folder: Path, work: str, *, terminal: bool) -> str:
    """Run a script whose standard error is a terminal or a pipe, and give what stands there."""
    ours, theirs = pty.openpty() if terminal else os.pipe()
    script = SCRIPT.format(folder=str(folder), work=work)
    with subprocess.Popen([sys.executable, "-c", script], stderr=theirs) as process:
        os.close(theirs)
    try:
        text = os.read(ours, 10_000).decode()
    except OSError:  # a terminal on which nothing was written
        text = ""
    finally:
        os.close(ours)
    assert process.returncode == 0, text
    return text


@pytest.mark.parametrize(
    ("work", "terminal", "seconds", "wanted"),
    [
        ("import slow; assert asked.is_set()", True, LONG, True),
        (f"assert asked.wait({LONG})", True, 0, False),
        ("import slow; assert not asked.is_set()", False, 0.5, False),
    ],
)
def test_only_a_terminal_is_told_and_only_of_imports(
    tmp_path: Path, work: str, terminal: bool, seconds: float, wanted: bool
) -> None:
    (tmp_path / "slow.py").write_text(SLOW.format(seconds=seconds))
    assert ("importing libraries" in told(tmp_path, work, terminal=terminal)) == wanted


def test_a_command_runs_where_standard_error_is_closed() -> None:
    command = ["sh", "-c", 'exec 2>&-; exec "$0" -m zoo --version', sys.executable]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == (0, f"zoo {zoo.__version__}\n")
