"""`zoo bench NAME` of a study that a plugin defines."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from zoo import Registry, StudySpec, hookimpl
from zoo.bench.study.command import command_of
from zoo.bench.study.definition import GridStudy
from zoo.cli.app import build
from zoo.errors import ConfigError
from zoo.registry.lookup import using

MODULE = """
from zoo.bench import GridStudy

def cube(config):
    if config["x"] == config["bad"]:
        raise ValueError("no cube")
    return {"cube": config["x"] ** 3}

def runs(count: int = 3, bad: int = -1):
    '''How large are cubes?'''
    return [{"x": x, "bad": bad} for x in range(count)]

STUDY = GridStudy(name="cubes", work="cube_study:cube", configs=runs)
"""


class Mine:
    @hookimpl
    def zoo_studies(self) -> list[StudySpec]:
        return [StudySpec(name="cubes", entry="cube_study:STUDY", description="Cubes.")]


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "cube_study.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    with using(Registry([Mine()])):
        yield
    sys.modules.pop("cube_study", None)


def invoked(out: Path, *options: str) -> tuple[int, str]:
    asked = ["bench", "cubes", "--workers", "0", "--out", str(out), *options]
    result = CliRunner().invoke(build(), asked)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, " ".join(result.output.split())


def test_the_command_has_the_options_of_the_study_and_those_of_all(tmp_path: Path) -> None:
    code, told = invoked(tmp_path, "--help")
    assert code == 0
    assert "How large are cubes?" in told
    assert all(option in told for option in ("--count", "--bad", "--out", "--shard", "--executor", "--retry-failed"))
    assert "runs/cubes" in told


def test_without_a_report_of_its_own_the_table_has_each_run(tmp_path: Path) -> None:
    code, told = invoked(tmp_path / "out", "--count", "4")
    assert code == 0
    assert "3 -1 27" in told
    assert (tmp_path / "out" / "table.csv").read_text().splitlines() == [
        "x,bad,cube",
        *["0,-1,0", "1,-1,1", "2,-1,8", "3,-1,27"],
    ]
    assert "Made by `zoo bench cubes --count 4 --out " in (tmp_path / "out" / "report.md").read_text()


def test_runs_that_fail_are_told_and_give_an_exit_code(tmp_path: Path) -> None:
    code, told = invoked(tmp_path / "out", "--bad", "1")
    assert code == 1
    assert "failed: ValueError: no cube (x=1)" in told
    assert "Not in the report: 1 run failed." in told
    code, told = invoked(tmp_path / "out", "--bad", "1")
    assert code == 1
    assert "1 run failed before and is not tried again; --retry-failed (retry_failed=True) repeats them" in told


def test_a_shard_tells_the_command_of_the_report(tmp_path: Path) -> None:
    code, told = invoked(tmp_path / "out", "--shard", "2/2")
    assert (code, "Shard 2/2 is done. When all are, the report: zoo bench cubes --out" in told) == (0, True)
    assert not (tmp_path / "out" / "report.md").exists()
    code, told = invoked(tmp_path / "out")
    assert (code, "Not in the report: 2 runs missing." in told) == (1, True)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--shard", "3/2"), "--shard 3/2: write which of how many parts"),
        (("--executor", "slurm"), "--executor slurm: it is one of local, ray"),
        (("--address", "head:1"), "add --executor ray"),
        (("--count", "0"), "the study cubes has no runs with count=0"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: tuple[str, ...], told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=told):
        invoked(tmp_path / "out", *options)


def reserved(out: str = "") -> list[dict[str, Any]]:
    return [{"out": out}]


def required(x: int) -> list[dict[str, Any]]:
    return [{"x": x}]


@pytest.mark.parametrize(
    ("configs", "told"),
    [(reserved, "argument 'out' is an option of every study"), (required, "argument 'x' has no default")],
)
def test_arguments_that_make_no_options_are_refused(configs: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        command_of(GridStudy(name="mine", work="a:b", configs=configs))
