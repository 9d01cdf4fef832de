"""A cluster of Ray on this machine that ends with its test, its processes and its files."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

PATIENCE = 300.0
"""Seconds that a command of Ray may take."""
GONE = 30.0
"""Seconds in which killed processes are gone."""
LITTLE = ("--num-cpus=1", "--object-store-memory=80000000", "--disable-usage-stats")
BUSY = "timed out during startup"
"""What `ray start` says of a node that does not answer within 30 seconds, which nothing makes longer."""


def processes() -> dict[int, list[str]]:
    """Give the commands of all processes; those of others may be no text."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found[int(folder.name)] = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
    return found


def kill(which: Callable[[list[str]], bool]) -> None:
    """Kill the processes of such commands, and wait until they are gone."""
    until = time.monotonic() + GONE
    while left := [process for process, words in processes().items() if which(words)]:
        assert time.monotonic() < until, f"processes {left} do not end"
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.05)


def kill_cluster(port: int) -> None:
    """End the processes of the cluster of a port: `ray stop` would end other clusters of this machine too."""
    kill(lambda words: any(re.fullmatch(rf"--gcs.*[=:]{port}", word) for word in words))


def started(words: Sequence[str]) -> bool:
    """Run `ray start` with options; False if the machine was too busy for it."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", *words, *LITTLE]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    told = f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    assert done.returncode == 0 or BUSY in told, told
    return done.returncode == 0


def start(port: int, *nodes: Sequence[str]) -> None:
    """Start a head at a port, then nodes, by the options of each; once more if the machine is too busy, then skip."""
    for _ in range(2):
        if all(started(node) for node in nodes):
            return
        kill_cluster(port)
    pytest.skip("Ray gives a node 30 seconds to start, which this machine was too busy for, twice")


def needs_ray() -> None:
    """Skip where Ray is not installed; it is not imported, since it reads its settings then."""
    if find_spec("ray") is None:
        pytest.skip("ray is not installed")


def uploaded() -> list[Path]:
    """Give the copies of folders that a cluster got."""
    return [*Path(os.environ["RAY_TMPDIR"]).glob("ray/session_*/runtime_resources/working_dir_files/*")]


def free_port() -> int:
    """Give a port of this machine that is free."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@contextmanager
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Give a port for a head; then end the cluster that is there, and remove what it wrote."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # whatever the user's clusters ask for
    port = free_port()
    # of 107 bytes for the path of a socket Ray takes 70, so that tmp_path would be too long
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("RAY_TMPDIR", folder)
        try:
            yield port
        finally:
            kill_cluster(port)
