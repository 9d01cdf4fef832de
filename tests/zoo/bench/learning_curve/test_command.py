import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import typer
from typer.testing import CliRunner

import zoo
from zoo.bench.grid import engine
from zoo.bench.grid.task import attempt
from zoo.bench.learning_curve import command, execution
from zoo.bench.learning_curve import plan as plan_module
from zoo.bench.learning_curve.config import StudyConfig
from zoo.bench.learning_curve.contestants import recipes
from zoo.bench.learning_curve.contestants.recipes import FORMER, RATES, RECIPE
from zoo.bench.learning_curve.plan import default_sizes, plan, quick, steps_for
from zoo.bench.learning_curve.repeat import command_for
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.learning_curve.training import tuning
from zoo.bench.learning_curve.training.run import Run
from zoo.bench.learning_curve.training.tuning import entries
from zoo.data.corpus import open_corpus
from zoo.data.subsets import study_info
from zoo.errors import ConfigError, DataError, FolderInUseError, UnknownModelError
from zoo.registry.lookup import using

TINY: dict[str, Any] = {
    "models": ["resnet-micro", "vit-micro"],
    "data": "digits",
    "sizes": [10, 20],
    "seeds": 2,
    "steps": 2,
    "lr_sweep": False,
}


@pytest.fixture
def report() -> None:
    """Let a study write its report."""


@pytest.fixture(autouse=True)
def _no_report(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the report, which takes longer than such small trainings, where a test does not ask for it."""
    if "report" not in request.fixturenames:
        monkeypatch.setattr(command, "write_report", lambda *_: [])


@pytest.fixture
def two_rates(monkeypatch: pytest.MonkeyPatch) -> tuple[float, float]:
    """Let pilots choose between two rates."""
    rates = (1e-3, 1e-2)
    monkeypatch.setattr(recipes, "RECIPE", replace(RECIPE, rates=rates))
    return rates


def study(out: Path, **options: Any) -> Study:
    return zoo.bench.data_size(**{**TINY, "out": out, "workers": 0, "progress": False, **options})


def test_a_study_runs_resumes_and_trains_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = study(tmp_path, seeds=1)
    assert len(first.records) == 4
    assert not first.failures
    assert {record["config"]["steps"] for record in first.records} == {2}  # one budget for all
    for record in first.records:
        assert record["parameters"] > 1000
        assert record["multiply_adds"] > 1e6
        assert record["config"]["ties"] == "smooth"  # what a run without it chose may be another checkpoint
        assert list(record["validation_scores"]) == ["accuracy", "loss"]
        assert record["validation_scores"]["accuracy"] == record["validation"]
    trained: list[dict[str, Any]] = []

    def counted(work: str, config: dict[str, Any], threads: int) -> dict[str, Any]:
        trained.append(config)
        return attempt(work, config, threads)

    monkeypatch.setattr(engine, "attempt", counted)
    assert study(tmp_path, seeds=1).points == first.points
    assert trained == []
    study(tmp_path, seeds=2)
    assert {config["seed"] for config in trained} == {1}


def test_a_run_is_a_function_of_its_configuration(tmp_path: Path) -> None:
    one, two = (study(tmp_path / name, seeds=1, sizes=[20]).records for name in "ab")
    assert [record["correct"] for record in one] == [record["correct"] for record in two]


def outcomes(study: Study) -> list[dict[str, Any]]:
    """Give all of the records but what a clock told."""
    return [
        {key: value for key, value in record.items() if key not in ("seconds", "examples_per_second")}
        for record in study.records
    ]


def test_a_run_is_the_same_however_many_threads_the_process_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(outcomes(study(tmp_path / str(threads), seeds=1, sizes=[40], steps=4, models="resnet-micro")))
    assert found[0] == found[1]
    assert {record["threads"] for record in found[0]} == {1}


@pytest.mark.slow
def test_a_run_is_the_same_by_any_number_of_workers_and_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    torch.set_num_threads(2)
    options: dict[str, Any] = {"sizes": [40], "steps": 4, "precision": "32-true"}
    found = [outcomes(study(tmp_path / str(workers), workers=workers, **options)) for workers in (0, 1, 2)]
    assert len(found[0]) == 4
    assert found[0] == found[1] == found[2]


def test_a_study_of_the_version_before_goes_on_with_its_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its keys say nothing of threads; its records do."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    options: dict[str, Any] = {"models": "vit-micro", "sizes": [20], "precision": "32-true"}
    study(tmp_path / "now", seeds=1, **options)
    (line,) = (tmp_path / "now" / "results.jsonl").read_text().splitlines()
    (tmp_path / "before").mkdir()
    (tmp_path / "before" / "results.jsonl").write_text(json.dumps({**json.loads(line), "threads": 2}) + "\n")
    first, second = study(tmp_path / "before", seeds=2, **options).records
    assert first["seconds"] == json.loads(line)["seconds"]
    assert second["threads"] == 2
    assert study(tmp_path / "before", seeds=2, **options).records == [first, second]


@pytest.mark.usefixtures("report")
def test_the_report_repeats_a_study_on_its_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    study(tmp_path, seeds=1, sizes=[20], models="vit-micro", steps=1)
    assert "<code>OMP_NUM_THREADS=2 zoo bench data-size" in (tmp_path / "report.html").read_text()


def test_a_study_in_a_folder_where_another_process_works_is_refused(tmp_path: Path) -> None:
    code = (
        f"import time; from pathlib import Path; from zoo.locking import locked\nwith locked(Path({str(tmp_path)!r})):"
    )
    code += "\n    print('locked', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.readline()
        with pytest.raises(FolderInUseError, match=f"in use by process {process.pid} on host"):
            study(tmp_path, data="no such data")
        process.kill()
    assert not (tmp_path / "results.jsonl").exists()


def test_an_executor_of_the_users_trains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ThreadPoolExecutor(1) as executor:
        found = study(tmp_path, seeds=1, sizes=[20], workers=None, executor=executor, progress=True)
    assert len(found.points) == 2
    assert "2 trainings; the first takes a while to start." in capsys.readouterr().out


def test_a_name_alone_is_one_model_also_a_hybrid_of_another_plugin(tmp_path: Path) -> None:
    found = study(tmp_path, models="conformer-vision-micro", seeds=1, sizes=[20])
    (conformer,) = found.models
    assert (conformer.kind, conformer.optimizer) == ("hybrid", RECIPE.optimizer)
    assert conformer.multiply_adds > 1e6
    assert list(found.points) == [("conformer-vision-micro", 20)]


def test_a_study_takes_texts_and_tells_right_answers_one_by_one(tmp_path: Path) -> None:
    lines = [f"{'good' if number % 2 else 'bad'} {number}\t{number % 2}" for number in range(60)]
    (tmp_path / "texts.tsv").write_text("\n".join(lines) + "\n")
    path = str(tmp_path / "texts.tsv")
    found = study(tmp_path / "out", models="bert-tiny", data=path, sizes=[8, 16], seeds=1)
    assert not found.failures
    assert found.data.metric == "accuracy"
    assert {record["correct"]["count"] for record in found.records} == {4}
    assert [record["config"]["image_size"] for record in found.records] == [None, None]
    assert found.models[0].augment is None  # the data augment themselves, or not at all
    assert {record["config"]["augment"] for record in found.records} == {None}
    with pytest.raises(ConfigError, match=r"augment=True: the data '.*' leave no choice"):
        study(tmp_path / "out", models="bert-tiny", data=path, sizes=[8], augment=True)
    with pytest.raises(ConfigError, match=r"image_size=32: the data '.*' are no images"):
        study(tmp_path / "out", models="bert-tiny", data=path, sizes=[8], image_size=32)
    with pytest.raises(ConfigError, match="'transformer-tiny'"):
        study(tmp_path / "out", models="transformer-tiny", data=f"labelled:{path}", sizes=[8])


@pytest.mark.usefixtures("report")
def test_a_study_shows_the_metric_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("".join(f"line {number}\n" for number in range(60)))
    found = study(tmp_path / "out", models="decoder-tiny", data=str(tmp_path / "lines.txt"), sizes=[8, 16], seeds=1)
    assert not found.failures
    assert [record["metric"] for record in found.records] == ["-perplexity"] * 2
    assert found.points["decoder-tiny", 8].value < -1
    assert found.table().title == "Test perplexity by number of training examples: lines.txt"
    assert "Test perplexity by number of training examples" in (tmp_path / "out" / "report.html").read_text()


def test_a_source_with_only_an_entry_is_trained_on_and_studied(tmp_path: Path) -> None:
    class Old:
        @zoo.hookimpl
        def zoo_sources(self) -> list[zoo.SourceSpec]:
            return [zoo.SourceSpec(name="old", modality="vision", entry="zoo.plugins.vision.data:open_digits")]

    with using(zoo.Registry(plugins=[Old()])):
        assert open_corpus("old", zoo.info("vit-micro")).sizes["train"] == 1265
        old = study(tmp_path / "old", models="vit-micro", data="old", sizes=[20], seeds=1).records
    new = study(tmp_path / "new", models="vit-micro", sizes=[20], seeds=1).records
    assert [record["correct"] for record in old] == [record["correct"] for record in new]


@pytest.mark.usefixtures("report")
def test_a_run_that_fails_is_recorded_and_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMER, "convolution", replace(FORMER["convolution"], learning_rate=1e37))
    found = study(tmp_path, seeds=1, sizes=[20], optimizer="by-kind")
    assert [record["error"] for record in found.failures] == ["DivergedError: the loss is nan by step 2"]
    assert list(found.points) == [("vit-micro", 20)]
    assert "DivergedError: the loss is nan by step 2" in (tmp_path / "report.html").read_text()


def test_a_run_that_diverged_is_reported_again_and_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails: dict[str, Any] = {"error": "DivergedError: the loss is nan"}
    monkeypatch.setattr(engine, "attempt", lambda work, config, threads: fails)
    results = tmp_path / "results.jsonl"

    def lines_after(**options: Any) -> int:
        assert len(study(tmp_path, seeds=1, sizes=[20], **options).failures) == 2
        return results.read_text().count("\n")

    assert [lines_after(), lines_after(), lines_after(retry_failed=True)] == [2, 2, 4]
    fails["transient"] = True
    assert [lines_after(retry_failed=True), lines_after()] == [6, 8]


def test_a_study_begun_before_checkpoints_had_a_second_criterion_goes_on_with_the_first_of_equal(
    tmp_path: Path,
) -> None:
    config = StudyConfig(models=["resnet-micro"], data="digits", sizes=[20], seeds=2, precision="32-true")
    new = plan(config, tmp_path)[1]
    assert {run.to_dict()["ties"] for run in new} == {"smooth"}
    old = {key: value for key, value in new[0].to_dict().items() if key != "ties"}
    for records, known in (([{"config": old}], old), ([{"config": old, "error": "killed"}], new[0].to_dict())):
        assert plan(config, tmp_path, records)[1][0].to_dict() == known


def test_a_study_begun_with_a_recipe_for_each_kind_is_refused_or_goes_on_as_it_was(tmp_path: Path) -> None:
    config = StudyConfig(models=["resnet-micro", "vit-micro"], data="digits", sizes=[20], seeds=1, precision="32-true")
    before = plan(replace(config, optimizer="by-kind"), tmp_path)[1]
    assert [(run.optimizer, run.learning_rate) for run in before] == [("adamw", 3e-3), ("muon", 3e-3)]
    records = [{"config": run.to_dict()} for run in before]
    with pytest.raises(ConfigError, match=r"holds 2 runs on 'digits' of a study in .* --optimizer by-kind"):
        plan(config, tmp_path, records)
    assert plan(replace(config, optimizer="by-kind"), tmp_path, records)[1] == before
    assert {run.optimizer for run in plan(replace(config, data="cards"), tmp_path, records)[1]} == {"muon-hidden"}
    now = [{"config": run.to_dict()} for run in plan(config, tmp_path)[1]]
    assert plan(config, tmp_path, [*records, *now])[1] == [Run(**record["config"]) for record in now]


@pytest.mark.parametrize("optimizer", [None, "adamw"])
def test_a_sweep_gives_each_model_the_same_grid_on_seeds_of_its_own(
    tmp_path: Path, two_rates: tuple[float, float], optimizer: str | None
) -> None:
    options: dict[str, Any] = {"seeds": 1, "optimizer": optimizer, "lr_sweep": None, "sizes": [10, 20, 40]}
    found = study(tmp_path, **options)
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    pilots, runs = lines[:4], lines[4:]
    tried = {(run["config"]["model"], run["config"]["learning_rate"]) for run in pilots}
    assert tried == {(name, rate) for name in TINY["models"] for rate in two_rates}
    assert {(run["config"]["seed"], run["config"]["size"]) for run in pilots} == {(1000, 20)}
    assert not any("correct" in run for run in pilots)
    assert len(runs) == len(found.records) == 6
    assert {run["config"]["optimizer"] for run in lines} == {optimizer or "muon-hidden"}
    for entry in found.models:
        assert entry.tuning
        assert {run["config"]["learning_rate"] for run in runs if run["config"]["model"] == entry.name} == {
            entry.learning_rate
        }
        best = max(score for _, score in entry.tuning.scores if score is not None)
        assert dict(entry.tuning.scores)[entry.learning_rate] == best
    assert study(tmp_path, **options).models == found.models
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == len(lines)


@pytest.mark.usefixtures("two_rates")
def test_a_sweep_that_is_stopped_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0

    def stopped(work: str, config: dict[str, Any], threads: int) -> dict[str, Any]:
        nonlocal count
        count += 1
        if count == 4:
            raise KeyboardInterrupt
        return attempt(work, config, threads)

    monkeypatch.setattr(engine, "attempt", stopped)
    with pytest.raises(KeyboardInterrupt):
        study(tmp_path, seeds=1, sizes=[20], lr_sweep=None)
    before = (tmp_path / "results.jsonl").read_text()
    assert before.count("\n") == 3
    study(tmp_path, seeds=1, sizes=[20], lr_sweep=None)
    after = (tmp_path / "results.jsonl").read_text()
    assert after.startswith(before)
    keys = [json.loads(line)["key"] for line in after.splitlines()]
    assert len(keys) == len(set(keys)) == 2 * 2 + 2


def test_runs_with_other_rates_are_said_not_to_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options: dict[str, Any] = {"models": "vit-micro", "seeds": 1, "sizes": [20], "progress": True}
    study(tmp_path, **options)
    study(tmp_path, **options)
    assert "not used" not in capsys.readouterr().out
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    other = json.loads(lines[0])
    other["config"]["learning_rate"] = 0.5
    (tmp_path / "results.jsonl").write_text(json.dumps({**other, "key": "other"}) + "\n")
    study(tmp_path, **options)
    said = " ".join(capsys.readouterr().out.split())
    assert "of these models is not used: the data, their class ratio or label noise, the learning rates or" in said


@pytest.mark.usefixtures("report", "two_rates")
def test_a_model_whose_pilot_runs_all_fail_takes_the_rate_of_the_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(work: str, config: dict[str, Any], threads: int) -> dict[str, Any]:
        wrong = config["model"] == "resnet-micro" and config.get("pilot")
        return {"error": "DivergedError"} if wrong else attempt(work, config, threads)

    monkeypatch.setattr(engine, "attempt", failing)
    cnn, vit = study(tmp_path, seeds=1, sizes=[20], lr_sweep=None, progress=True).models
    assert (cnn.tuning, cnn.learning_rate) == (None, RECIPE.learning_rate)
    assert vit.tuning
    shown = " ".join(capsys.readouterr().out.split())
    assert "Every pilot run of resnet-micro failed: it takes the recipe's learning rate." in shown
    assert "No rate was chosen for resnet-micro: it is the recipe" in (tmp_path / "report.html").read_text()


@pytest.mark.usefixtures("two_rates")
def test_rates_that_the_package_keeps_are_taken_and_others_swept_with_the_same_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study(tmp_path / "first", models="vit-micro", seeds=1, sizes=[10], steps=3, lr_sweep=True)
    records = [json.loads(line) for line in (tmp_path / "first" / "results.jsonl").read_text().splitlines()]
    kept = tmp_path / "rates.json"
    kept.write_text(json.dumps({"rates": entries(record for record in records if record["config"].get("pilot"))}))
    monkeypatch.setattr(tuning, "KEPT", kept)
    tuning._entries.cache_clear()
    options: dict[str, Any] = {"models": "vit-micro", "seeds": 1, "sizes": [20], "steps": 3}
    try:
        cnn, vit = study(tmp_path / "out", **options | {"models": TINY["models"]}, lr_sweep=None, progress=True).models
        (alone,) = study(tmp_path / "alone", **options, lr_sweep=False).models
        (anew,) = study(tmp_path / "anew", **options, lr_sweep=True).models
        (former,) = study(tmp_path / "former", **options, optimizer="by-kind").models
    finally:
        tuning._entries.cache_clear()
    assert vit.tuning
    assert cnn.tuning
    assert (vit.tuning.kept, cnn.tuning.kept) == (True, False)
    assert {(each.tuning.size, each.tuning.steps) for each in (cnn, vit) if each.tuning} == {(10, 3)}
    assert alone.tuning == vit.tuning
    assert anew.tuning
    assert (anew.tuning.kept, anew.tuning.size) == (False, 20)
    assert former.tuning is None
    shown = " ".join(capsys.readouterr().out.split())
    assert "Learning rates, kept in the package, chosen on validation at 10 examples, 3 steps" in shown
    assert "The pilot's cost: 2 runs" in shown


@pytest.mark.usefixtures("report")
def test_on_a_full_disk_the_command_shows_what_was_found(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make_study: Callable[..., Study],
    limited_file_size: Callable[[int], AbstractContextManager[None]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "run_study", lambda *args: make_study([0.4] * 4, [0.2] * 4))
    with limited_file_size(1000), pytest.raises(DataError, match="cannot be written: File too large"):
        command.command(out=tmp_path)
    assert "cnn is ahead of vit at every size" in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("report")
def test_the_command_decides_in_its_first_lines_and_in_those_of_the_report(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make_study: Callable[..., Study],
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = make_study([0.4] * 4, [0.525, 0.694, 0.811, 0.878])
    made = replace(made, records=[{**record, "seconds": 9.0} for record in made.records])
    monkeypatch.setattr(command, "run_study", lambda *args: made)
    command.command(out=tmp_path, target=0.92, label_cost=0.08, hour_cost=2.0)
    shown = " ".join(capsys.readouterr().out.split())
    first, cost = made.decision(0.92, label_cost=0.08, hour_cost=2.0).lines[:2]
    assert f"{first} {cost} Curve of vit: " in shown
    assert shown.index(first) < shown.index("vit is ahead of cnn")
    page = (tmp_path / "report.html").read_text()
    assert f'<div class="found"><p>{first}</p>' in page
    assert " --target 0.92 --label-cost 0.08 --hour-cost 2</code>" in page
    assert json.loads((tmp_path / "summary.json").read_text())["decision"][0] == first


def test_a_target_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"target=0.05: always answering the largest class gives accuracy 0.1"):
        study(tmp_path, target=0.05)
    with pytest.raises(ConfigError, match=r"label_cost=0.1 without a target: name the test score"):
        study(tmp_path, label_cost=0.1)
    with pytest.raises(ConfigError, match=r"hour_cost=-1.0: a price"):
        study(tmp_path, target=0.9, hour_cost=-1.0)
    assert not (tmp_path / "results.jsonl").exists()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"seeds": 0}, ConfigError, "seeds=0: at least 1 is needed"),
        ({"seeds": 1001}, ConfigError, "seeds=1001: at most 1,000, since seed 1000 chooses the learning rates"),
        ({"steps": 0}, ConfigError, "steps=0: at least 1 is needed"),
        ({"workers": -1}, ConfigError, "workers=-1: at least 0 is needed"),
        ({"models": []}, ConfigError, "no models: name at least one"),
        ({"models": ["vit-micro", "vit-micro"]}, ConfigError, "models: vit-micro is named twice"),
        ({"models": ["vit-mico"]}, UnknownModelError, "Did you mean 'vit-micro'"),
        ({"sizes": [5]}, ConfigError, "sizes: 5 is less than one example for each of the 10 classes"),
        ({"sizes": [5000]}, DataError, "5,000 training examples asked for, 'digits' has 1,265 besides"),
        ({"data": "cifar"}, DataError, "Unknown source"),
        ({"image_size": 20}, ConfigError, "'vit-micro' cannot read images of 20 x 20: .*; try --image-size 24"),
        ({"models": ["vit-small"]}, ConfigError, "'vit-small' cannot read images of 24 x 24: .* --image-size 32"),
        ({"models": ["timm:vgg11"]}, ConfigError, "timm:vgg11.* 24 x 24: .* too small; try --image-size 32"),
        ({"precision": "bf8"}, ConfigError, "precision='bf8' is not one of auto, 32-true, bf16-mixed"),
        ({"optimizer": "sgd"}, ConfigError, "optimizer='sgd' is not one of muon-hidden, adamw, muon, by-kind"),
        ({"device": "abacus"}, ConfigError, "--device abacus --precision 32-true cannot be used here"),
        ({"step": 0}, ConfigError, r"step=0: there is no such option. Did you mean 'steps'\?"),
    ],
)
def test_a_study_that_does_not_fit_is_refused_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    monkeypatch.setattr(plan_module, "profitable_precision", lambda: "32-true")
    with pytest.raises(error, match=text):
        study(tmp_path, **options)


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"out=.* cannot be written"):
        study(tmp_path / "file")


def test_a_quick_study_keeps_what_the_user_chose() -> None:
    chosen = quick(StudyConfig(seeds=5, steps=7, sizes=[20]))
    assert (chosen.seeds, chosen.steps, chosen.sizes) == (5, 7, [20])
    assert quick(StudyConfig()).seeds == 2


@pytest.mark.parametrize("sweep", [None, True, False])
def test_the_command_repeats_the_study(sweep: bool | None) -> None:
    config = StudyConfig(
        models=["vit-micro"], data="folder:my pictures", sizes=[20], seeds=1, image_size=24, steps=5,
        precision="64-true", device="cpu", optimizer="adamw", augment=True, class_ratio="8,4,2.5", label_noise=0.1,
    )  # fmt: skip
    text = command_for(config, Path("my runs"), lr_sweep=sweep)
    asked: list[Any] = []

    def run_study(config: StudyConfig, folder: Path, options: execution.RunOptions, show: object) -> None:
        asked.extend((config, folder, options))
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "run_study", run_study)
        app = typer.Typer()
        app.command()(command.command)
        CliRunner().invoke(app, shlex.split(text)[3:])
    assert asked == [
        replace(config, models=("vit-micro",), sizes=(20,)), Path("my runs"), execution.RunOptions(lr_sweep=sweep)
    ]  # fmt: skip


def test_a_measured_precision_stays_that_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "profitable_precision", lambda: "32-true")
    config = StudyConfig(models=["vit-micro"], data="digits", sizes=[20], seeds=1)
    _, (run,) = plan(config, tmp_path)
    monkeypatch.setattr(plan_module, "profitable_precision", lambda: "bf16-mixed")
    assert plan(config, tmp_path, [{"config": run.to_dict()}])[1] == [run]
    others: list[dict[str, Any]] = [
        {"config": run.to_dict() | {"fingerprint": "other"}},
        {"config": run.to_dict(), "error": "no"},
    ]
    assert plan(config, tmp_path, others)[1][0].precision == "bf16-mixed"


def test_a_study_knows_what_guessing_gives_on_its_data(tmp_path: Path) -> None:
    found, _ = plan(StudyConfig(models=["vit-micro"], data="digits", sizes=[20], precision="32-true"), tmp_path)
    (labels,) = [batch.target for batch in open_corpus("digits", zoo.info("vit-micro")).held_out("test", 1000)]
    assert found.data.chance == pytest.approx(max(labels.tolist().count(each) for each in range(10)) / len(labels))


def test_options_hold_for_all_models_and_change_no_default(tmp_path: Path) -> None:
    runs = {
        False: plan(StudyConfig(), tmp_path)[1],
        True: plan(StudyConfig(optimizer="adamw", augment=True), tmp_path)[1],
    }
    assert {(run.optimizer, run.augment) for run in runs[True]} == {("adamw", True)}
    assert {(run.optimizer, run.augment) for run in runs[False]} == {("muon-hidden", False)}


def test_an_accelerator_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "cores", lambda: 8)
    asked = (None, "cpu"), (None, "cuda"), (3, "cuda")
    assert [execution.workers_for(*each) for each in asked] == [8, 1, 3]


def test_sizes_that_are_no_numbers() -> None:
    with pytest.raises(ConfigError, match="--sizes 10,many: 'many' is not a whole number"):
        command.command(sizes="10,many")


def test_default_sizes_end_with_all_there_are() -> None:
    digits, cards = (study_info(open_corpus(name, zoo.info("vit-micro"))) for name in ("digits", "cards"))
    sizes = default_sizes(digits)
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == digits.limit
    assert default_sizes(cards)[0] == 300


def test_the_budget_grows_within_bounds() -> None:
    assert steps_for(10, 2000) == 200
    assert steps_for(1_000_000, 2000) == 2000
    assert steps_for(300, 50) == 50


@pytest.mark.slow
def test_a_killed_study_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    code = (
        "import zoo; zoo.bench.data_size(models=['vit-micro'], data='digits', sizes=[20, 40], seeds=3, "
        f"steps=10, workers=0, precision='32-true', progress=False, out={str(tmp_path)!r})"
    )
    results = tmp_path / "results.jsonl"
    process = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (results.exists() and results.read_text().count("\n") >= 2):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = results.read_text()
    assert 2 <= before.count("\n") < 3 * len(RATES) + 6
    subprocess.run([sys.executable, "-c", code], check=True)
    after = results.read_text()
    assert after.startswith(before[: before.rindex("\n") + 1])
    keys = [json.loads(line)["key"] for line in after.splitlines()]
    assert len(keys) == len(set(keys)) == 3 * len(RATES) + 6  # the pilot, in which it was killed, and the study
