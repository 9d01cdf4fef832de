"""The commands of a page that make a cluster of Ray and give it a study, on this machine."""

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.page_commands.not_run import run_by
from tests.ray_cluster import needs_ray, place, start, uploaded
from zoo.bench.grid import ray_executor

COMMANDS = [command for _, command in run_by("tests/page_commands/test_clusters.py")]
STARTS = [command for command in COMMANDS if command.startswith("ray start ")]
HEAD = "--node-ip-address=127.0.0.1 --include-dashboard=false"
FEW = "--data digits --models vit-micro --sizes 40 --steps 1 --seeds 1 --no-sweep"


def test_a_page_starts_a_head_then_a_node_then_a_study() -> None:
    head, node, study = COMMANDS
    assert [head, node] == STARTS
    assert "--head --port=6379" in head
    assert "--address=HEAD:6379" in node
    assert "--address HEAD:6379" in study


def options(command: str) -> list[str]:
    """Give the options with which a page starts a node."""
    program, action, *words = shlex.split(command)
    assert (program, action) == ("ray", "start")
    return words


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Give what puts a free port of this machine in place of the one of a page; end the cluster that is there then."""
    needs_ray()
    monkeypatch.setattr(ray_executor, "PATIENCE", 120.0)
    with place(monkeypatch) as port:
        yield lambda command: command.replace("HEAD:", "127.0.0.1:").replace("6379", str(port))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("unchecked_shapes", "one_thread")
def test_the_cluster_of_a_page_computes_its_study(here: Callable[[str], str], run: Callable[[str], str]) -> None:
    head, node, study = map(here, COMMANDS)
    port = int(node.partition("127.0.0.1:")[2].split()[0])
    start(port, options(f"{head} {HEAD}"), options(f"{node} --node-ip-address=127.0.0.1"))
    assert run(f"{study} {FEW}") == ""
    assert Path("runs/study/results.jsonl").read_text(encoding="utf-8").count("\n") == 1
    assert uploaded() == []  # though uv runs the tests
