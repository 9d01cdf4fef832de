"""A study that a plugin defines: resume, shards, failures and the report come from the engine."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

import zoo.bench
from zoo.bench.grid.engine import Record
from zoo.bench.grid.shard import Shard
from zoo.bench.study.definition import GridStudy
from zoo.bench.study.execution import Execution
from zoo.bench.study.progress import NoProgress
from zoo.bench.study.report import Report
from zoo.errors import ConfigError

MODULE = '''
import os, time
from zoo.bench import GridStudy

def square(config):
    """Write down the run, and fail, die or wait if asked to."""
    with open(config["log"], "a") as file:
        file.write(f"{config['x']}\\n")
    if config["x"] == config.get("bad"):
        raise ValueError("no square")
    time.sleep(config.get("sleep", 0))
    return {"square": config["x"] ** 2, "pid": os.getpid()}

def runs(log="", count=4, sleep=0.0):
    """How large are squares?"""
    return [{"x": x, "log": log, "sleep": sleep} for x in range(count)]

STUDY = GridStudy(name="squares", work="square_study:square", configs=runs)
'''
HERE = Execution(workers=0)


def runs(
    log: str = "",
    count: Annotated[int, typer.Option(help="Runs.")] = 4,
    bad: Annotated[int, typer.Option("--failing", help="The run that fails.")] = -1,
    timed: bool = False,
) -> Iterator[dict[str, Any]]:
    """How large are squares?

    The more, the larger.

    Args:
        log: file.
    """
    yield from ({"x": x, "log": log, "bad": bad, "timed": timed and x % 2 == 1} for x in range(count))


def summed(records: Sequence[Record]) -> Report:
    return Report(lines=[f"The sum is {sum(record['square'] for record in records)}."])


def timed(config: Mapping[str, Any]) -> bool:
    return bool(config["timed"])


STUDY = GridStudy(name="squares", work="square_study:square", configs=runs, report=summed, alone=timed)


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "square_study.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path / "modules")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    yield tmp_path / "log"
    sys.modules.pop("square_study", None)


class Said(NoProgress):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def executed(study: GridStudy, folder: Path, how: Execution = HERE, **options: Any) -> tuple[list[int], list[str]]:
    said = Said()
    records = study.execute(study.configurations(options), folder, how, said)
    return [record.get("square", -1) for record in records], said.lines


def test_a_study_is_run_from_python_with_its_report(log: Path, tmp_path: Path) -> None:
    records = STUDY.run(tmp_path / "out", log=str(log), workers=0, progress=False)
    assert [record["square"] for record in records] == [0, 1, 4, 9]
    page = (tmp_path / "out" / "report.md").read_text()
    assert page.startswith("# How large are squares?\n\nMade by `zoo bench squares --log ")
    assert "- The sum is 14." in page
    assert (tmp_path / "out" / "runs.csv").read_text().splitlines()[0].startswith("x,log,bad,timed,")


@pytest.mark.slow
def test_a_study_whose_process_was_killed_goes_on(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = f"from square_study import STUDY\nSTUDY.run({str(out)!r}, log={str(log)!r}, sleep=0.2, count=6, workers=1)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (log.exists() and log.read_text().count("\n") >= 3):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    stored = (out / "results.jsonl").read_text().count("\n")
    assert 2 <= stored < 6
    from square_study import STUDY as KILLED  # type: ignore[import-not-found]

    records = KILLED.run(out, log=str(log), sleep=0.2, count=6, workers=0, progress=False)
    assert [record["square"] for record in records] == [x**2 for x in range(6)]
    keys = [json.loads(line)["key"] for line in (out / "results.jsonl").read_text().splitlines()]
    assert len(keys) == len(set(keys)) == 6


def test_shards_together_are_the_study_and_the_missing_ones_are_named(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for number in (3, 1):
        shard = replace(HERE, shard=Shard(number, 3))
        assert len(executed(STUDY, out, shard, log=str(log), count=7)[0]) == (2 if number == 3 else 3)
    squares, lines = executed(STUDY, out, log=str(log), count=7)
    assert squares == [0, 4, 9, 25, 36]
    assert lines == ["shard 2/3: 2 runs missing; the same command with --shard 2/3 does them"]
    executed(STUDY, out, replace(HERE, shard=Shard(2, 3)), log=str(log), count=7)
    assert executed(STUDY, out, log=str(log), count=7) == ([x**2 for x in range(7)], [])
    assert sorted(log.read_text().split()) == [str(x) for x in range(7)]


def test_runs_that_measure_time_come_last_one_at_a_time_and_in_no_shard(log: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"log": str(log), "timed": True}
    assert executed(STUDY, tmp_path / "out", replace(HERE, shard=Shard(1, 1)), **options)[0] == [0, 4]
    assert executed(STUDY, tmp_path / "out", **options)[0] == [0, 4, 1, 9]
    assert log.read_text().split() == ["0", "2", "1", "3"]


@pytest.mark.slow
def test_runs_that_measure_time_share_one_process_however_many_workers_there_are(log: Path, tmp_path: Path) -> None:
    how = Execution(workers=3)
    configs = STUDY.configurations({"log": str(log), "timed": True, "count": 8})
    records = STUDY.execute(configs, tmp_path / "out", how, NoProgress())
    assert len({record["pid"] for record in records if record["config"]["timed"]}) == 1
    assert os.getpid() not in {record["pid"] for record in records}


def test_a_run_that_failed_is_left_out_and_is_repeated_only_if_asked(log: Path, tmp_path: Path) -> None:
    for retry, again in ((False, 0), (False, 0), (True, 1)):
        log.write_text("")
        how = replace(HERE, retry_failed=retry)
        squares, lines = executed(STUDY, tmp_path / "out", how, log=str(log), bad=2)
        assert squares == [0, 1, -1, 9]
        assert log.read_text().count("2") == again or not lines
    records: list[dict[str, Any]] = [{"config": {}, "error": "no"}, {"config": {}, "square": 4}]
    assert STUDY.found(records).lines == ["The sum is 4."]


def test_where_every_run_failed_the_first_cause_is_told() -> None:
    with pytest.raises(ConfigError, match=r"no run of squares is finished, so there is no report: no memory"):
        STUDY.found([{"config": {}, "error": "no memory"}])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"cuont": 3}, r"cuont=3: squares has no such option. Did you mean 'count'\?"),
        ({"count": 0}, r"the study squares has no runs with count=0"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        STUDY.configurations(options)


def test_the_help_is_the_docstring_without_its_arguments() -> None:
    assert STUDY.help == "How large are squares?\n\nThe more, the larger."
    assert STUDY.title == "How large are squares?"


@pytest.mark.parametrize(
    ("options", "folder", "command"),
    [
        ({}, "runs/squares", "zoo bench squares"),
        ({"count": 4, "bad": 2, "timed": True}, "my runs", "zoo bench squares --failing 2 --timed --out 'my runs'"),
    ],
)
def test_the_command_that_repeats_a_study_has_what_differs(options: dict[str, Any], folder: str, command: str) -> None:
    assert STUDY.command_with(options, Path(folder)) == command


def test_authors_find_it_in_zoo_bench() -> None:
    made: Callable[..., Any] = zoo.bench.GridStudy
    assert made is GridStudy
