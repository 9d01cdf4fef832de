"""The commands of a page that make a cluster of Ray and give it a study, on this machine."""

import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.page_commands.not_run import run_by
from zoo.bench.grid import ray_executor

COMMANDS = [command for _, command in run_by("tests/page_commands/test_clusters.py")]
STARTS = [command for command in COMMANDS if command.startswith("ray start ")]
HEAD = "--node-ip-address=127.0.0.1 --include-dashboard=false"
FEW = "--data digits --models vit-micro --sizes 40 --steps 1 --seeds 1 --no-sweep"
LITTLE = "--num-cpus=1 --object-store-memory=80000000"


def test_a_page_starts_a_head_then_a_node_then_a_study() -> None:
    head, node, study = COMMANDS
    assert [head, node] == STARTS
    assert "--head --port=6379" in head
    assert "--address=HEAD:6379" in node
    assert "--address HEAD:6379" in study


def run_program(command: str) -> None:
    """Run a program of Ray as a page names it, with little memory."""
    program, *words = shlex.split(f"{command} {LITTLE}")
    assert program == "ray"
    run = [sys.executable, "-m", "ray.scripts.scripts", *words]
    done = subprocess.run(run, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    told = f"{command}\n{done.stdout}\n{done.stderr}"
    if "timed out during startup" in told:
        pytest.skip("Ray gives a node 30 seconds to start, which this machine was too busy for")
    assert done.returncode == 0, told


def kill(port: int) -> None:
    """End the processes of the cluster of a port: `ray stop` would end other clusters of this machine too."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().decode().split("\0")
            if any(word.startswith("--gcs") and word.endswith(str(port)) for word in words):
                os.kill(int(folder.name), signal.SIGKILL)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Give what puts a free port of this machine in place of the one of a page; end the cluster that is there then."""
    pytest.importorskip("ray", reason="ray is not installed")
    monkeypatch.setattr(ray_executor, "PATIENCE", 120.0)
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # whatever the user's clusters ask for
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    try:
        yield lambda command: command.replace("HEAD:", "127.0.0.1:").replace("6379", str(port))
    finally:
        kill(port)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("unchecked_shapes", "one_thread")
def test_the_cluster_of_a_page_computes_its_study(here: Callable[[str], str], run: Callable[[str], str]) -> None:
    head, node, study = map(here, COMMANDS)
    run_program(f"{head} {HEAD}")
    run_program(f"{node} --node-ip-address=127.0.0.1")
    assert run(f"{study} {FEW}") == ""
    assert Path("runs/study/results.jsonl").read_text(encoding="utf-8").count("\n") == 1
