"""A study whose runs are computed in several places."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

from zoo.bench.grid.results_store import Store
from zoo.bench.grid.shard import Shard
from zoo.bench.learning_curve import command, execution
from zoo.bench.learning_curve.config import StudyConfig
from zoo.bench.learning_curve.contestants.recipes import RECIPE
from zoo.bench.learning_curve.execution import RunOptions
from zoo.bench.learning_curve.progress import NoProgress
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.learning_curve.run_study import run_study
from zoo.bench.study.execution import executed_by
from zoo.errors import ConfigError, DataError

TINY = StudyConfig(models=("resnet-micro", "vit-micro"), data="digits", sizes=(10, 20), seeds=1, steps=2)
HERE = RunOptions(workers=0, lr_sweep=False)


class Said(NoProgress):
    """Keep what is told to the user."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def scores(study: Study) -> list[tuple[Any, ...]]:
    return [(*(record["config"][name] for name in ("model", "size")), record["correct"]) for record in study.records]


def test_choosing_rates_only_and_not_at_all_is_refused() -> None:
    with pytest.raises(ConfigError, match="--sweep-only beside --no-sweep leaves nothing to do"):
        RunOptions(sweep_only=True, lr_sweep=False)


def test_shards_together_are_the_study_and_the_report_names_those_that_are_missing(tmp_path: Path) -> None:
    whole = run_study(TINY, tmp_path / "whole", HERE, NoProgress())
    out, said = tmp_path / "shards", Said()
    for number in (3, 1):
        run_study(TINY, out, replace(HERE, shard=Shard(number, 3)), said)
    assert len(Store(Shard(1, 3).folder(out)).records) == 2
    part = run_study(TINY, out, HERE, said)
    assert len(part.records) == 3
    assert said.lines[-1] == "shard 2/3: 1 run missing; the same command with --shard 2/3 does it"
    run_study(TINY, out, replace(HERE, shard=Shard(2, 3)), said)
    assert scores(run_study(TINY, out, HERE, said)) == scores(whole)
    assert not (out / "results.jsonl").exists()


def test_a_shard_before_the_learning_rates_are_chosen_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.bench.learning_curve.contestants.recipes.RECIPE", replace(RECIPE, rates=(1e-3, 1e-2)))
    swept = replace(HERE, lr_sweep=True)
    with pytest.raises(ConfigError, match=r"--shard 1/2: learning rates are chosen first.* --sweep-only"):
        run_study(TINY, tmp_path, replace(swept, shard=Shard(1, 2)), NoProgress())
    study = run_study(TINY, tmp_path, replace(swept, sweep_only=True), NoProgress())
    assert not study.records
    assert len(Store(tmp_path).records) == 4
    run_study(TINY, tmp_path, replace(swept, shard=Shard(1, 2)), NoProgress())
    assert len(Store(Shard(1, 2).folder(tmp_path)).records) == 2


def test_shards_of_two_versions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_study(TINY, tmp_path, replace(HERE, shard=Shard(1, 2)), NoProgress())
    monkeypatch.setattr("zoo.bench.grid.results_store.__version__", "9.9")
    run_study(TINY, tmp_path, replace(HERE, shard=Shard(2, 2)), NoProgress())
    with pytest.raises(DataError, match=r"shard-1-of-2/.* by zoo .*, .*shard-2-of-2/.* by zoo 9\.9"):
        run_study(TINY, tmp_path, HERE, NoProgress())


def test_the_command_of_a_shard_makes_no_report_and_tells_which_command_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(execution, "workers_for", lambda *_: 0)
    asked: dict[str, Any] = {"models": "vit-micro", "data": "digits", "sizes": "10", "seeds": 1, "steps": 2}
    asked |= {"out": tmp_path / "out", "lr_sweep": False}
    with pytest.raises(typer.Exit) as ended:
        command.command(**asked, shard="1/1")
    assert ended.value.exit_code == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Shard 1/1 is done. When all are, the report: zoo bench data-size --models vit-micro" in told
    assert not (tmp_path / "out" / "report.html").exists()
    command.command(**asked)
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("executor", "address", "told"),
    [("slurm", None, "--executor slurm: it is one of local, ray"), ("local", "a:1", "add --executor ray")],
)
def test_executors_that_there_are_not(executor: str, address: str | None, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        executed_by(executor, address)
    assert executed_by("ray", None)
    assert not executed_by("local", None)
