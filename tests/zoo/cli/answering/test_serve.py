"""`zoo serve`."""

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import zoo

Run = Callable[..., tuple[int, str, str]]


def test_a_port_in_use_is_told_before_the_model_is_read(run: Run) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        code, _, told = run("serve", "no-such-model", "--port", port)
    assert code == 2
    assert f"--port {port} is in use on 127.0.0.1" in told
    assert "--port 0 for a free one" in told


def test_limits_that_are_none_are_told(run: Run) -> None:
    assert run("serve", "vit-micro", "--max", "pixles=3")[2].startswith("zoo: --max 'pixles=3': write UNIT=NUMBER")


def test_a_task_that_the_model_does_not_have_is_told(run: Run, tmp_path: Path) -> None:
    told = run("serve", "bert-base", "--port", "0", "--task", "generate")[2]
    assert told.startswith("zoo: --task generate: 'bert-base' has classify,")
    assert "masked-token" in told
    zoo.weights.save(zoo.create("vit-micro", num_classes=2, dim=16, depth=1, num_heads=2, mlp_dim=16), tmp_path)
    told = run("serve", str(tmp_path), "--port", "0", "--task", "features")[2]
    assert told.endswith("has classify\n")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_serves_until_it_is_told_to_stop(tmp_path: Path, number: int) -> None:
    size: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
    zoo.weights.save(zoo.create("vit-micro", num_classes=2, **size), tmp_path)
    command = [sys.executable, "-m", "zoo", "serve", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        with urllib.request.urlopen(line.split()[4] + "/health") as reply:
            assert json.load(reply)["model"] == "vit-micro"
        process.send_signal(number)
        assert process.wait(30) == 0
        assert process.stderr.read() == "zoo: stopped; what was accepted is answered\n"
