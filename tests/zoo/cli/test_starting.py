"""Word of a slow import reaches a terminal, and nothing else."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys, time
sys.path.insert(0, {folder!r})
from zoo.cli.starting import tell_if_slow
tell_if_slow(0.1)
{work}
"""


def told(folder: Path, work: str, *, terminal: bool) -> str:
    """Run a script whose standard error is a terminal or a pipe, and give what stands there."""
    ours, theirs = pty.openpty() if terminal else os.pipe()
    with subprocess.Popen([sys.executable, "-c", SCRIPT.format(folder=str(folder), work=work)], stderr=theirs):
        os.close(theirs)
    try:
        return os.read(ours, 10_000).decode()
    except OSError:  # a terminal on which nothing was written
        return ""
    finally:
        os.close(ours)


@pytest.mark.parametrize(
    ("work", "terminal", "wanted"),
    [("import slow", True, True), ("time.sleep(0.5)", True, False), ("import slow", False, False)],
)
def test_only_a_terminal_is_told_and_only_of_imports(tmp_path: Path, work: str, terminal: bool, wanted: bool) -> None:
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(0.5)\n")
    assert ("importing libraries" in told(tmp_path, work, terminal=terminal)) == wanted
