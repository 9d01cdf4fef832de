"""The regret of the planner's choice."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from zoo.bench.speed import backends, regret
from zoo.bench.speed.backends import Offer, compare
from zoo.bench.speed.regret import Regret, problems, quantiles, rows, summary
from zoo.bench.speed.timing import Spread
from zoo.cli.app import build
from zoo.core.backends.problem import Problem
from zoo.core.patterns.edges import Edges

PROBLEM = Problem(queries=4, keys=4, heads=1, head_dim=16)


def offer(name: str, ratio: float) -> Offer:
    return Offer(name, measured=ratio, ratio=Spread(ratio, ratio, ratio), chosen=name == "chosen")


def found(*ratios: float) -> Regret:
    return Regret(PROBLEM, offer("chosen", 1.0), tuple(offer(f"way {ratio}", ratio) for ratio in ratios))


def test_regret_is_the_choice_over_the_best_and_1_where_it_is_the_best() -> None:
    assert found(0.5, 0.8, 3.0).ratio == 2.0
    assert found(0.5, 0.8, 3.0).best.name == "way 0.5"
    assert found(1.5, 2.0).ratio == found().ratio == 1.0


def test_quantiles_are_those_of_half_of_nine_in_ten_and_of_all() -> None:
    every = [found(1 / n) for n in range(10, 0, -1)]
    assert [round(x, 6) for x in quantiles(every).values()] == [5, 9, 10]
    assert "10 problems: median 5.00 (at most 1), nine in ten 9.00 (at most 1.1), largest 10.00" in summary(every)
    assert [row[-1] for row in rows(every)] == ["10.00", "9.00", "8.00", "7.00", "6.00"]


def test_problems_follow_their_seed_leave_a_choice_and_are_of_many_kinds() -> None:
    drawn = list(problems(60))
    again = list(problems(60))
    assert [(type(p.pattern), p.queries, p.dtype, p.grad) for p in drawn] == [
        (type(p.pattern), p.queries, p.dtype, p.grad) for p in again
    ]
    assert len({type(p.pattern) for p in drawn}) >= 7
    assert {p.dtype for p in drawn} == {torch.float32, torch.bfloat16}
    assert {p.grad for p in drawn} == {p.padded for p in drawn} == {True, False}
    for p in drawn:
        assert sum(not answer.refusal for answer in compare(p)) > 1
        assert p.batch * p.heads * p.queries**2 * p.head_dim <= regret.LARGEST
    assert not any(p.padded for p in drawn if isinstance(p.pattern, Edges))


def test_a_better_backend_is_found_by_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def seconds(job: object) -> float:
        ran.append(job.args[0])  # type: ignore[attr-defined]
        return 1.0 if ran[-1] == "explicit" else 4.0

    monkeypatch.setattr(backends, "seconds", seconds)
    monkeypatch.setattr(regret, "SLOWEST", 1e9)
    (one,) = regret.measured(iter([replace(PROBLEM, queries=64, keys=64, start=0)]))
    assert (one.best.name, one.ratio) == ("explicit", 4.0)
    assert one.chosen.name in ran


def test_the_command_measures_problems_and_writes_the_worst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "ROUNDS", 1)
    monkeypatch.setattr(regret, "LARGEST", 1 << 19)
    out = tmp_path / "planner.md"
    options = ["--suite", "planner", "--problems", "2", "--threads", "1", "--out", str(out)]
    result = CliRunner().invoke(build(), ["bench", "speed", *options])
    assert result.exit_code == 0, result.output
    assert "2 problems" in " ".join(result.output.split())
    written = out.read_text()
    assert written.startswith("`zoo bench speed --suite planner --problems 2 --threads 1`")
    assert written.count("\n| ") == 3
