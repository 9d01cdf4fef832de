"""`zoo bench speed --suite NAME` on tiny cases."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from rich.console import Console
from typer.testing import CliRunner

from zoo import ConfigError, Registry, SuiteSpec, hookimpl
from zoo.bench.speed import suite
from zoo.bench.speed.case import Case, Job
from zoo.bench.speed.command import command
from zoo.bench.speed.suite import (
    Row,
    cells,
    configurations,
    execute,
    find_cases,
    markdown,
    measure,
    rows_of,
    table,
)
from zoo.bench.speed.timing import Spread
from zoo.cli.app import build
from zoo.registry.lookup import using


def fill(numbers: int) -> Job:
    return lambda: torch.zeros(numbers).add_(1)


def case(build: Callable[[], tuple[Job, Job] | str] = lambda: (fill(1), fill(1)), **fields: object) -> Case:
    return Case(**({"name": "fills", "peer": "itself", "target": 1.0, "build": build} | fields))  # type: ignore[arg-type]


@pytest.fixture
def only_toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the suite see two modules: one with cases, one without."""
    toys, empty = ModuleType("zoo.bench.engine.toys"), ModuleType("zoo.bench.engine.empty")
    toys.CASES = [case(name="fills little"), case(name="absent", build=lambda: "pip install absent")]  # type: ignore[attr-defined]
    for module in (toys, empty):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    found = [type("Found", (), {"name": name}) for name in ("empty", "toys")]
    monkeypatch.setattr("pkgutil.iter_modules", lambda path: found)


@pytest.mark.usefixtures("only_toys")
class TestCases:
    def test_every_module_with_cases_is_asked(self) -> None:
        assert [found.name for found in find_cases("zoo.bench.engine")] == ["fills little", "absent"]

    def test_a_text_picks_by_name_or_module_in_any_case(self) -> None:
        assert [found.name for found in find_cases("zoo.bench.engine", "LITTLE")] == ["fills little"]
        assert len(find_cases("zoo.bench.engine", "toys")) == 2

    def test_a_text_that_is_nowhere_lists_the_cases(self) -> None:
        with pytest.raises(ConfigError, match=r"--only 'edge' is in none of\n  toys: fills little\n  toys: absent"):
            find_cases("zoo.bench.engine", "edge")

    def test_the_command_prints_and_writes_a_section(self, tmp_path: Path) -> None:
        out = tmp_path / "engine.md"
        options = ["--suite", "engine", "--rounds", "1", "--threads", "1", "--only", "toys", "--out", str(out)]
        options += ["--folder", str(tmp_path / "speed")]
        result = CliRunner().invoke(build(), ["bench", "speed", *options])
        assert result.exit_code == 0, result.output
        assert "fills little" in result.output
        assert "pip install absent" in result.output
        text = out.read_text()
        assert text.startswith("## The engine against its peers\n\n`zoo bench speed --suite engine --rounds 1")
        assert "| fills little | itself | 1 |" in text
        assert "| absent | itself | 1 | - | - | pip install absent | 1 | - |" in text


def test_a_plugin_of_another_has_a_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine:
        @hookimpl
        def zoo_suites(self) -> list[SuiteSpec]:
            return [SuiteSpec(name="toys", package="toys_bench", title="Toys against their peers")]

    package = tmp_path / "toys_bench"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "fast.py").write_text(
        "from zoo.bench import Case\nCASES = [Case('runs', 'walks', 1.0, build=lambda: (int, float))]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with using(Registry([Mine()])):
        options = ["--suite", "toys", "--out", str(tmp_path / "toys.md"), "--folder", str(tmp_path / "speed")]
        result = CliRunner().invoke(build(), ["bench", "speed", *options])
        with pytest.raises(ConfigError, match=r"'trains' is not one of models, .*engine, .*, toys, planner, startup"):
            command(suite="trains")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "toys.md").read_text().startswith("## Toys against their peers\n\n`zoo bench speed --suite toys")


@pytest.mark.usefixtures("only_toys")
def test_a_case_is_measured_for_each_number_of_threads() -> None:
    configs = configurations("zoo.bench.engine", thread_counts=[1, 2], rounds=2)
    assert [(config["case"], config["threads"]) for config in configs] == [
        (f"toys: {name}", count) for name in ("fills little", "absent") for count in (1, 2)
    ]
    found = execute(configs[0])
    assert found["ours"] > 0 and found["theirs"] > 0 and len(found["ratio"]) == 3  # noqa: PT018
    assert execute(configs[2])["missing"] == "pip install absent"


@pytest.mark.usefixtures("only_toys")
def test_rows_stand_in_the_order_of_the_suite_and_say_why_one_failed() -> None:
    configs = configurations("zoo.bench.engine", thread_counts=[1], rounds=2)
    good = {"config": configs[0], **execute(configs[0])}
    failed = {"config": configs[1], "error": "ValueError: no\nsecond line"}
    rows = rows_of([failed, good])
    assert [row.case.name for row in rows] == ["fills little", "absent"]
    assert rows[1].missing == "failed: ValueError: no"
    assert rows[0].ratio == Spread(*good["ratio"])


def test_memory_does_not_depend_on_threads_and_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "_named", lambda *_: {("toys: fills", "itself"): case(memory=True)})
    assert [config["threads"] for config in configurations("zoo.bench.engine", thread_counts=[2, 1])] == [2]


def test_the_ratio_is_ours_over_the_peers() -> None:
    row = measure(case(lambda: (fill(1), fill(2_000_000))), 1, rounds=3)
    assert row.ratio
    assert row.ratio.median < 0.5
    assert row.ours < row.theirs


def test_what_a_way_changes_in_the_answers_stands_beside_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = case(lambda: (lambda: 3, lambda: 5), quality=lambda ours, theirs: f"{ours} for {theirs}")
    monkeypatch.setattr(suite, "_named", lambda *_: {("toys: fills", "itself"): fast})
    (config,) = configurations("zoo.bench.engine", thread_counts=[1], rounds=2)
    (row,) = rows_of([{"config": config, **execute(config)}])
    assert row.quality == "3 for 5"
    assert cells(row)[0] == "fills; 3 for 5"
    alone = Case("hears", "the sound", 0.1, build=lambda: (fill(1), 2.0), quality=lambda ours, theirs: "no")
    assert cells(measure(alone, 1, rounds=2))[0] == "hears"


def test_a_duration_may_stand_in_the_peers_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "seconds", lambda job: 0.5)
    row = measure(Case("hears", "the sound", 0.1, build=lambda: (fill(1), 2.0), repeats=5), 1, rounds=3)
    assert (row.ours, row.theirs) == (0.1, 2.0)
    assert row.ratio == Spread(0.05, 0.05, 0.05)


def test_the_time_is_that_of_one_of_the_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "in_turns", lambda ours, theirs, rounds: ([10.0] * rounds, [5.0] * rounds))
    row = measure(case(repeats=5), 1, rounds=2)
    assert (row.ours, row.theirs) == (2.0, 1.0)
    assert row.ratio == Spread(2.0, 2.0, 2.0)


def test_a_job_is_repeated_within_a_measurement() -> None:
    runs = {"ours": 0, "theirs": 0}

    def count(name: str) -> Job:
        def job() -> None:
            runs[name] += 1

        return job

    measure(case(lambda: (count("ours"), count("theirs")), repeats=5), 1, rounds=2)
    assert runs == dict.fromkeys(runs, 5 * (1 + 2 + 2))  # one to see how long it takes, two untimed, two timed


@pytest.mark.parametrize(("taken", "rounds"), [(0.5, 15), (2.0, 8), (100.0, 6)])
def test_cases_over_a_second_get_fewer_rounds(taken: float, rounds: int) -> None:
    assert suite._rounds(taken, 15) == rounds
    assert suite._rounds(taken, 3) == 3


def test_memory_is_compared_by_peak_bytes() -> None:
    row = measure(case(lambda: (fill(10**6), fill(4 * 10**6)), memory=True, target=0.251), 1)
    assert (row.ours, row.theirs) == pytest.approx((4e6, 16e6), rel=1e-3)
    assert row.reached == "yes"
    assert cells(row)[2:6] == ["-", "4 MB", "16 MB", "0.25"]


def absent() -> tuple[Job, Job]:
    import zoo_no_such_library  # type: ignore[import-not-found]

    return zoo_no_such_library, fill(1)


@pytest.mark.parametrize(("build", "text"), [(absent, "zoo_no_such_library"), (lambda: "no compiler", "no compiler")])
def test_a_peer_that_is_not_there_is_a_row(build: Callable[[], tuple[Job, Job] | str], text: str) -> None:
    row = measure(case(build), 1)
    assert text in row.missing
    assert row.reached == "-"
    assert text in cells(row)[5]


@pytest.mark.parametrize(
    ("ratio", "reached"),
    [
        ((0.8, 0.7, 0.9), "yes"),
        ((0.8, 0.7, 1.1), "yes, barely"),
        ((1.2, 0.9, 1.3), "no, barely"),
        ((2.0, 1.5, 3.0), "no"),
    ],
)
def test_a_target_is_reached_surely_or_barely(ratio: tuple[float, float, float], reached: str) -> None:
    assert Row(case(), 1, 1.0, 1.0, Spread(*ratio)).reached == reached


def test_rows_are_laid_out_for_terminal_and_document() -> None:
    row = Row(case(), 2, 0.0123, 1.5, Spread(0.0082, 0.008, 0.009))
    assert "| fills | itself | 2 | 12.3 ms | 1.5 s | 0.0082 (0.008-0.009) | 1 | yes |" in markdown(
        [row], "engine", "zoo bench"
    )
    console = Console(width=80)
    with console.capture() as shown:
        console.print(table([row]))
    assert re.search(r"fills +2 +12.3 ms +1.5 s +0.0082 +1 +yes", shown.get())


def test_a_process_is_measured_against_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "resident_bytes", lambda job: job() * 10**6)
    row = measure(Case("a step", "16 MB", 1.0, build=lambda: (lambda: 12, 16e6), memory=True), 1)
    assert cells(row)[2:] == ["-", "12 MB", "16 MB", "0.75", "1", "yes"]
