"""Each `zoo serve` of a page serves, and each `curl` is answered, by a model that reads what it sends."""

import json
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import torch

import zoo
from tests.page_commands.not_run import idle, run_by
from tests.page_commands.short import RUNS, shortened
from zoo import Pipeline
from zoo.serve import Limits, application, running

HERE = "http://127.0.0.1:8000"
PATIENCE = 300
"""Seconds that a machine may take which is slow."""
SERVES = [command for _, command in run_by("tests/page_commands/test_servers.py") if command.startswith("zoo serve")]
CURLS = [command for _, command in run_by("tests/page_commands/test_servers.py") if command.startswith("curl")]
OWN = {
    "runs/sounds": "speech-micro --data recordings:sounds",
    "runs/molecules": "graph-tiny --data graphs:molecules.csv?split=random",
}
"""Trainings of models that read what is sent, besides those that pages take for granted."""


def check_labels(answers: list[Any], count: int, labels: int) -> None:
    """Check the probabilities of so many labels of so many inputs."""
    assert [len(answer["labels"]) for answer in answers] == [labels] * count
    assert all(0 <= chance <= 1 for answer in answers for chance in answer["labels"].values())


def check_numbers(answers: list[Any]) -> None:
    """Check the numbers of two molecules."""
    (one, two) = (answer["labels"] for answer in answers)
    assert list(one) == list(two) == ["logp"]
    assert one != two


def check_written(answers: list[Any]) -> None:
    """Check one answer that was written, with its score."""
    ((best,),) = (answer["answers"] for answer in answers)
    assert best["text"]
    assert best["score"] <= 0


def check_vectors(answers: list[Any]) -> None:
    """Check a vector for each line of the file."""
    vectors = [answer["features"] for answer in answers]
    assert len(vectors) == len(Path("texts.txt").read_text(encoding="utf-8").splitlines())
    assert len({len(vector) for vector in vectors}) == 1
    assert vectors[0] != vectors[1]


ASKED: dict[str, tuple[str, Callable[[list[Any]], None]]] = {
    "curl -F file=@cat.png -F file=@dog.png *": ("runs/pictures", lambda answers: check_labels(answers, 2, 10)),
    "* --data-binary @seven.wav *top=3*": ("runs/sounds", lambda answers: check_labels(answers, 1, 3)),
    '*"CCO", "c1ccccc1"*': ("runs/molecules", check_numbers),
    '*"a premise", "a hypothesis"*': ("runs/pairs", lambda answers: check_labels(answers, 1, 6)),
    '*"twelve"*"beam": 4*/predict': ("runs/numbers", check_written),
    "*@texts.txt */features": ("runs/pairs", check_vectors),
    '*"twelve"*/stream': ("runs/numbers", lambda answers: None),
}
"""Folder of the model that a request is for, and what its answers are, by patterns of commands."""


def streamed(told: str) -> list[Any]:
    """Check the events of a stream: pieces, then the whole."""
    *pieces, end = (json.loads(line.removeprefix("data: ")) for line in told.splitlines() if line.startswith("data: "))
    assert "event: end" in told
    assert len(pieces) > 1
    assert "".join(piece["text"] for piece in pieces) == end["text"]
    return [end]


def asked(command: str, url: str) -> Any:
    """Send a request as a page does; give the answers to it."""
    words = shlex.split(command.replace(HERE, url))
    more = ["--silent", "--show-error", "--noproxy", "*", "--max-time", str(PATIENCE), "--write-out", "\n%{http_code}"]
    done = subprocess.run([*words, *more], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told, _, status = done.stdout.rpartition("\n")
    assert status == "200", done.stdout
    return streamed(told) if "/stream" in command else json.loads(told)["answers"]


@contextmanager
def served(command: str) -> Iterator[str]:
    """Run the command of a page that serves, at a free port, in a process; give its URL."""
    program, *words = shlex.split(command)
    assert (program, words[-2:]) == ("zoo", ["--port", HERE.rpartition(":")[2]])
    run = [sys.executable, "-m", "zoo", *words[:-1], "0", "--timeout", str(PATIENCE)]
    with process_of(run) as process:
        told = until_url(process, PATIENCE)
        assert told, f"{command} gave no address within {PATIENCE} s, and ended with code {process.wait(PATIENCE)}"
        yield told
        process.terminate()
        code = process.wait(PATIENCE)
        assert code == 0, f"{command} ended with code {code}"


@contextmanager
def process_of(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a process, and kill it in the end if it does not end by itself."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()  # does nothing to one that has ended; leaving `Popen` waits for it


def until_url(process: subprocess.Popen[str], seconds: float) -> str:
    """Give the URL that a process tells; none if it ends before, as it does when it takes too long: it is killed."""
    assert process.stderr is not None
    late = threading.Timer(seconds, process.kill)
    late.start()
    try:
        told = next((line for line in process.stderr if "http://" in line), "")  # warnings may stand before it
    finally:
        late.cancel()
    return told[told.index("http://") :].split()[0] if told else ""


def let_write(folder: str) -> None:
    """Let a model never end by itself, which after so few steps would write nothing."""
    model: Any = zoo.create(f"local-dir:{folder}")
    with torch.no_grad():  # symbols, the end among them, score 0, and of 400 other tokens the best is above it
        model.target.embed.weight[:4] = 0
    zoo.weights.save(model, folder)


@pytest.fixture
def curl() -> None:
    """Skip where there is no curl, or one before 7.82, which knows no --json."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    if "--json" not in subprocess.run(["curl", "--help", "all"], capture_output=True, text=True).stdout:
        pytest.skip("curl knows no --json: version 7.82 does")


def test_each_request_of_a_page_has_a_model() -> None:
    assert idle(ASKED, CURLS) == []
    for command in CURLS:
        assert len([pattern for pattern in ASKED if fnmatchcase(command, pattern)]) == 1, command


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("curl", "unchecked_shapes", "one_thread")
@pytest.mark.parametrize("command", CURLS)
def test_a_request_of_a_page_is_answered(command: str, run: Callable[[str], str]) -> None:
    folder, check = next(found for pattern, found in ASKED.items() if fnmatchcase(command, pattern))
    assert run(shortened(f"zoo train {(RUNS | OWN)[folder]} --out {folder}")) == ""
    if folder == "runs/numbers":
        let_write(folder)
    ours = [serve for serve in SERVES if folder in serve.split()]
    limits = Limits(timeout=PATIENCE)
    with served(ours[0]) if ours else running(application(Pipeline(folder), limits)) as url:
        check(asked(command, url))


@pytest.mark.parametrize(
    ("source", "url"),
    [
        ("import time, sys; print('a warning', file=sys.stderr, flush=True); time.sleep(100)", ""),
        ("import sys; sys.exit('a message')", ""),
        ("import time, sys; print('a\\nhttp://x:1 is it', file=sys.stderr, flush=True); time.sleep(100)", "http://x:1"),
    ],
    ids=["hangs", "ends", "serves"],
)
def test_a_server_that_hangs_does_not_hang_the_tests(source: str, url: str) -> None:
    begun = time.monotonic()
    with process_of([sys.executable, "-c", source]) as process:
        assert until_url(process, 60 if url else 1) == url
    assert time.monotonic() - begun < 50
    assert process.returncode == (1 if "exit" in source else -signal.SIGKILL)


def test_each_server_of_a_page_is_asked() -> None:
    folders = {folder for folder, _ in ASKED.values()}
    assert [serve for serve in SERVES if not folders & {*serve.split()}] == []
    assert len(SERVES) == len({*SERVES})
