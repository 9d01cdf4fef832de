"""A cluster of several nodes on this machine: what runs where, who dies, and who does not answer."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests import ray_cluster
from tests.ray_cluster import kill, kill_cluster, needs_ray, place, processes, start
from zoo.bench.grid import ray_executor
from zoo.bench.grid.engine import run_grid
from zoo.bench.grid.ray_executor import RayExecutor, called, check_answers
from zoo.errors import ConfigError, MissingLibraryError

SOURCE = '''
import os, time

def work(config):
    """Write down who begins, and wait until a file is there, if asked to."""
    import ray
    with open(config["log"], "a") as file:
        file.write(f"{config['x']} {ray.get_runtime_context().get_node_id()}\\n")
    while config.get("wait") and not os.path.exists(config["wait"]):
        time.sleep(0.05)
    if config["x"] == config.get("bad"):
        raise ValueError("no square")
    return {"square": config["x"] ** 2}
'''


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start a head and two nodes, of one core each, and give the address."""
    needs_ray()
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "cluster_work.py").write_text(SOURCE)
    monkeypatch.setenv("PYTHONPATH", str(modules))
    with place(monkeypatch) as port:
        address = f"127.0.0.1:{port}"
        head = ["--head", "--node-ip-address=127.0.0.1", f"--port={port}", "--include-dashboard=false"]
        start(port, head, *[[f"--address={address}", "--node-ip-address=127.0.0.1"]] * 2)
        yield address


@pytest.mark.slow
def test_a_node_that_dies_costs_its_unfinished_runs_alone(cluster: str, tmp_path: Path) -> None:
    log, going = tmp_path / "log", {str(x): tmp_path / f"go{x}" for x in (6, 7, 8)}
    asked: list[dict[str, Any]] = [{"x": x, "log": str(log), "bad": 7} for x in range(12)]
    for x, go in going.items():
        asked[int(x)]["wait"] = str(go)  # each of three nodes has one of them when one dies
    killed: list[str] = []

    def kill_one() -> None:
        import ray  # after the executor, whose settings are read then

        while len(at := {x: node for x, node in map(str.split, read(log)) if x in going}) < 3:
            time.sleep(0.05)
        own = ray.get_runtime_context().get_node_id()
        died, node = next((x, node) for x, node in at.items() if node != own)
        killed.extend((died, node))
        kill(lambda words: words[0].endswith("/raylet") and f"--node_id={node}" in words)  # its workers end with it
        for x in going.keys() - {died}:
            going[x].touch()
        while sum(line.startswith(f"{died} ") for line in read(log)) < 2:  # tried again, on another node
            time.sleep(0.05)
        going[died].touch()

    with RayExecutor(cluster) as executor:
        Thread(target=kill_one, daemon=True).start()
        records = run_grid("cluster_work:work", asked, tmp_path / "out", executor=executor, progress=False)
    assert [record.get("square") for record in records] == [None if x == 7 else x**2 for x in range(12)]
    assert records[7]["error"].startswith("ValueError: no square (on node ")
    begun = [line.split() for line in read(log)]
    twice = {x for x, _ in begun if [y for y, _ in begun].count(x) > 1}
    died, node = killed
    assert died in twice
    assert twice <= {x for x, at in begun if at == node}
    assert len({node for _, node in begun}) == 3


def read(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


PRINTS = """
from zoo.bench.grid import ray_executor
ray_executor.connect = lambda address: None
ray_executor.RayExecutor()
from ray._private import ray_constants
print(ray_constants.RAY_ENABLE_UV_RUN_RUNTIME_ENV)
"""


@pytest.mark.parametrize(("asked", "uploads"), [({}, "False"), ({ray_executor.UPLOAD: "1"}, "True")])
def test_the_current_folder_is_uploaded_only_if_asked_for(asked: dict[str, str], uploads: str) -> None:
    needs_ray()
    environment = {name: value for name, value in os.environ.items() if name != ray_executor.UPLOAD} | asked
    done = subprocess.run([sys.executable, "-c", PRINTS], env=environment, capture_output=True, text=True)
    assert done.stdout == f"{uploads}\n", done.stderr


@contextmanager
def waiting(*words: str | bytes) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that has such words in its command, and does nothing."""
    command = [sys.executable, "-c", "print(flush=True); input()", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def test_a_process_whose_command_is_no_text_is_read() -> None:
    with waiting(b"\xff", "--gcs") as process:
        assert processes()[process.pid][3:5] == ["\ufffd", "--gcs"]


def test_only_the_cluster_of_a_port_is_killed() -> None:
    with waiting("--gcs-address=127.0.0.1:1") as ours, waiting("--gcs-address=127.0.0.1:11") as other:
        kill_cluster(1)
        assert ours.wait(10) == -signal.SIGKILL
        assert other.poll() is None


@pytest.mark.parametrize("busy", [1, 2])
def test_a_busy_machine_is_given_a_second_chance(busy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def started(words: list[str]) -> bool:
        asked.append(words)
        return asked.count(["head"]) > busy

    monkeypatch.setattr(ray_cluster, "started", started)
    monkeypatch.setattr(ray_cluster, "kill_cluster", asked.append)
    if busy == 1:
        start(1, ["head"], ["node"])
    else:
        with pytest.raises(pytest.skip.Exception, match="too busy for, twice"):
            start(1, ["head"], ["node"])
    assert asked == [["head"], 1, ["head"], *([["node"]] if busy == 1 else [1])]


def test_an_address_that_does_not_answer_is_told_with_what_to_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_executor, "PATIENCE", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"--address 127.0.0.1:{port}: nothing answers .*ray status"):
            check_answers(f"127.0.0.1:{port}")


@pytest.mark.parametrize("address", ["head", "head:", ":6379", "head:port"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=rf"--address {address}: write host:port"):
        check_answers(address)


@pytest.mark.slow
def test_another_service_at_the_address_is_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_ray()
    monkeypatch.setattr(ray_executor, "PATIENCE", 4.0)
    with socket.socket() as service:
        service.bind(("127.0.0.1", 0))
        service.listen()
        with pytest.raises(ConfigError, match="what answers there is no Ray cluster"):
            check_answers(f"127.0.0.1:{service.getsockname()[1]}")


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'attention-zoo\[cluster\]'"):
        RayExecutor("head:6379")


def test_a_failed_run_tells_on_which_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_executor, "_address_of_node", lambda: "10.0.0.3")
    assert called(lambda: {"error": "no file"})["error"] == f"no file (on node {socket.gethostname()}, 10.0.0.3)"
    assert called(lambda: {"score": 1}) == {"score": 1}
