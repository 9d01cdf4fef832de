"""`zoo plan`."""

import dataclasses
import inspect
import os
import re
import subprocess
import sys
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from zoo import ConfigError
from zoo.bench.speed import backends
from zoo.bench.speed.backends import compare, measure, pairs
from zoo.cli.app import build
from zoo.cli.models.plan import plan as command
from zoo.core import Causal, Full, Globals, Hard, Window, plan
from zoo.core.backends import BACKENDS
from zoo.core.backends.problem import Problem
from zoo.core.patterns.pattern import Pattern
from zoo.core.scoring.normalizers import Kernel

FULL = Full()


def run(*arguments: str) -> str:
    result = CliRunner().invoke(build(), ["plan", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return re.sub(r"\x1b\[[0-9;]*m", "", result.output)


def problem(pattern: Pattern = FULL, **fields: Any) -> Problem:
    sizes: dict[str, Any] = {"batch": 1, "queries": 12, "keys": 12, "heads": 2, "head_dim": 4, "value_dim": 4}
    return Problem(pattern=pattern, **(sizes | {"dtype": torch.float32, "device": "cpu", "grad": False} | fields))


def test_every_backend_has_a_line() -> None:
    out = run("window:2", "--length", "40")
    assert all(re.search(rf"^[> ] {name}\b", out, re.MULTILINE) for name in BACKENDS)


def test_the_chosen_backend_is_marked_and_said() -> None:
    chosen = plan(Window(2), queries=40, keys=40, heads=8, head_dim=64)
    out = run("window:2", "--length", "40")
    assert re.findall(r"^> (\S+).* x 1 ", out, re.MULTILINE) == [chosen.backend]
    assert f"{chosen.backend} is taken: it {chosen.why}"[:60] in out


def test_those_that_refuse_say_why() -> None:
    assert re.search(
        r"  dense .*cannot: it knows only softmax, not Hard", run("full", "--length", "8", "--norm", "hard")
    )


def test_pairs_and_normal_form_are_shown() -> None:
    out = run("window:1 & causal", "--length", "10")
    assert "window:1 & causal = window:1,0" in out
    assert "pairs: 100, 19 may be read (19.000%)" in out


def test_queries_heads_and_start_go_into_the_problem() -> None:
    out = run("causal", "--length", "10", "--queries", "2", "--start", "3", "--heads", "3", "--head-dim", "5")
    assert "pairs: 20, 9 may be read" in out
    expected = plan(Causal(), queries=2, keys=10, start=3, heads=3, head_dim=5)
    assert re.search(rf"^> {expected.backend} +{expected.flops / 1e3:.3g} k", out, re.MULTILINE)


@pytest.mark.parametrize("option", ["--grad", "--padded", "--packed", "--dropout=0.5", "--bias=dense", "--dtype=bf16"])
def test_needs_change_the_problem(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Problem] = []

    def watched(problem: Problem) -> list[backends.Offer]:
        asked.append(problem)
        return compare(problem)

    monkeypatch.setattr(backends, "compare", watched)
    run("full", "--length", "8")
    run("full", "--length", "8", option)
    name = option.removeprefix("--").partition("=")[0]
    assert getattr(asked[0], name) != getattr(asked[1], name)


def test_a_forced_backend_is_the_chosen_one() -> None:
    assert re.search(r"^> reference ", run("full", "--length", "8", "--backend", "reference"), re.MULTILINE)


def test_measured_times_stand_beside_the_predictions() -> None:
    out = run("window:2 | globals:0", "--length", "32", "--heads", "2", "--measure", "--threads", "1", "--grad")
    served = [line for line in out.splitlines() if re.match(r"[> ] \S+ .* x ", line)]
    assert len(served) >= 2
    assert all(re.search(r" ms +x \d|skipped", line) for line in served)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["windw:2"], "Unknown attention (windw:2). Did you mean 'window'?"),
        (["window:x"], "'x' is not a whole number"),
        (["neighbourhood:3,3,1", "--length", "10"], "is a grid of 3 x 3: 9 positions, and there are 10 (--length 10)"),
        (["full", "--dtype", "fp8"], "--dtype 'fp8' is not one of fp32, bf16, fp16, fp64"),
        (["full", "--bias", "relativ"], "--bias 'relativ' is not one of none, dense, relative, edges"),
        (["full", "--norm", "sparse"], "--norm 'sparse' is not one of softmax, kernel, hard"),
        (["full", "--device", "gpu"], "--device 'gpu' is not one of cpu, cuda"),
        (["full", "--heads", "4", "--kv-heads", "3"], "--heads 4 is not a multiple of --kv-heads 3"),
        (["full", "--dropout", "1"], "--dropout 1.0 is not in [0, 1)"),
        (["full", "--backend", "magic"], "backend='magic' is not one of auto, "),
        (["full", "--backend", "dense", "--norm", "hard"], "backend='dense' cannot serve Full()"),
        (["full", "--bias", "edges", "--measure"], "bias='edges' belongs to a graph"),
    ],
)
def test_what_cannot_be_planned_is_refused(arguments: list[str], text: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(text)):
        run(*arguments)


def test_the_help_shows_how_patterns_are_written() -> None:
    out = run("--help")
    assert "window:16,0 & causal" in out
    assert "--measure" in out


def test_those_that_serve_come_first_and_the_chosen_at_the_top() -> None:
    answers = compare(problem(Causal()))
    assert answers[0].chosen
    assert answers[0].predicted == 1
    served = [offer.plan is not None for offer in answers]
    assert served == sorted(served, reverse=True)
    assert all(bool(offer.refusal) != bool(offer.plan) for offer in answers)


def test_a_forced_backend_stands_at_the_top_though_others_are_faster() -> None:
    answers = compare(problem(backend="reference"))
    assert answers[0].name == "reference"
    assert min(offer.predicted for offer in answers if offer.plan) < 1


@pytest.mark.parametrize(
    "fields",
    [
        {"grad": True, "bias": "relative", "bias_grad": True, "pattern": Window(2)},
        {"grad": True, "bias": "dense", "bias_grad": True},
        {"padded": True, "packed": True, "pattern": Causal()},
        {"padded": True, "kv_heads": 1, "queries": 3, "start": 5, "pattern": Window(2) | Globals((0,))},
        {"norm": Kernel()},
        {"norm": Hard()},
        {"dtype": torch.bfloat16, "dropout": 0.1},
    ],
)
def test_every_backend_that_offers_to_serve_does(fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "ROUNDS", 1)
    monkeypatch.setattr(backends, "SLOWEST", 1e9)
    asked = problem(**fields)
    for offer in measure(asked, compare(asked)):
        if offer.name != "flex":  # it cannot read functions that carry the tests' type checks
            assert offer.skipped == ""
            assert (offer.measured > 0 and offer.ratio is not None) == (offer.plan is not None)


def test_a_backend_that_fails_is_a_row_and_the_others_go_on() -> None:
    def broken() -> None:
        raise RuntimeError("no compiler\nand more")

    times, failed = backends._in_turns({"broken": broken, "other": list}, lambda done, total: None, backends.SECONDS)
    assert failed == {"broken": "failed: RuntimeError: no compiler"}
    assert len(times["other"]) == backends.ROUNDS


def test_what_is_predicted_far_slower_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "SLOWEST", 1)
    answers = measure(problem(), compare(problem()))
    assert answers[0].measured
    for offer in answers[1:]:
        assert not offer.measured
        assert offer.refusal or offer.skipped == "skipped: predicted over 1 times slower"


def test_what_does_not_fit_into_memory_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "_room", lambda device: 1000.0)
    for offer in measure(problem(), compare(problem())):
        assert not offer.measured
        assert offer.refusal or re.fullmatch(r"skipped: .* GB do not fit the 1e-06 GB free", offer.skipped)


def test_progress_is_told_after_each_run_and_ends_at_the_total(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "ROUNDS", 2)
    told: list[tuple[int, int]] = []
    answers = measure(problem(), compare(problem()), ran=lambda done, total: told.append((done, total)))
    jobs, failed = sum(bool(offer.measured) for offer in answers), sum(bool(offer.skipped) for offer in answers)
    assert [done for done, _ in told] == list(range(1, 3 * jobs + failed + 1))
    assert told[-1][0] == told[-1][1]


def test_slow_runs_have_fewer_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "seconds", lambda job: 4.0)
    times, _ = backends._in_turns({"a": list}, lambda done, total: None, backends.SECONDS)
    assert len(times["a"]) == 2


def test_a_device_that_is_not_here_can_be_planned_for_and_not_measured() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    answers = compare(problem(device="cuda"))
    with pytest.raises(ConfigError, match="device='cuda' is not here"):
        measure(problem(device="cuda"), answers)


def test_pairs_of_joined_patterns_are_counted_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    joined = Window(1) | Globals((0,))
    assert pairs(joined, 5, 5) == int(joined.mask(torch.arange(5)[None], torch.arange(5)).sum())
    monkeypatch.setattr(backends, "COUNTED", 24)
    assert pairs(joined, 5, 5) is None
    assert pairs(Window(1), 10**6, 10**6) == 3 * 10**6 - 2


def test_the_command_is_offered_without_torch() -> None:
    code = "import sys; from zoo.cli.app import build; build(); print('torch' in sys.modules)"
    environment = os.environ | {"ZOO_LOAD_PLUGINS": ""}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert shown.stdout.strip() == "False"


def test_every_field_of_a_problem_is_an_option_or_follows_from_the_others() -> None:
    follows = {"keys", "value_dim", "together", "placed", "bias_grad", "bias_values", "weights"}
    options = set(inspect.signature(command).parameters) - {"context", "length", "measure", "threads"}
    assert options | follows == {field.name for field in dataclasses.fields(Problem)}
    assert not options & follows


def test_options_have_the_defaults_of_the_fields() -> None:
    texts = {"dtype": "fp32", "bias": "none", "queries": None, "heads": 8, "head_dim": 64}  # where they differ
    given = inspect.signature(command).parameters
    for field in dataclasses.fields(Problem):
        if field.name in given and field.name != "pattern":
            assert given[field.name].default == texts.get(field.name, field.default)


def test_plan_takes_the_fields_of_a_problem() -> None:
    assert inspect.signature(plan) == inspect.signature(Problem)
    with pytest.raises(TypeError, match="lenght"):
        plan(queries=1, keys=1, heads=1, head_dim=1, lenght=3)  # type: ignore[call-arg]
