import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zoo
from zoo.bench import datasize, pool
from zoo.bench.plan import default_sizes, steps_for
from zoo.bench.recipes import RECIPES, SWEEP
from zoo.bench.study import Study
from zoo.errors import ConfigError, DataError, UnknownModelError
from zoo.plugins.vision.data import open_cards, open_digits

TINY: dict[str, Any] = {
    "models": ["resnet-micro", "vit-micro"],
    "data": "digits",
    "sizes": [10, 20],
    "seeds": 2,
    "steps": 2,
}


def study(out: Path, **options: Any) -> Study:
    return zoo.bench.data_size(**{**TINY, "out": out, "workers": 0, "progress": False, **options})


def test_a_study_runs_resumes_and_trains_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = study(tmp_path, seeds=1)
    assert len(first.records) == 4
    assert not first.failures
    trained: list[dict[str, Any]] = []
    execute = pool.run_all

    def counted(work: str, configs: list[dict[str, Any]], workers: int) -> Iterator[Any]:
        trained.extend(configs)
        return execute(work, configs, workers)

    monkeypatch.setattr(datasize, "run_all", counted)
    assert study(tmp_path, seeds=1).points == first.points
    assert trained == []
    study(tmp_path, seeds=2)
    assert {config["seed"] for config in trained} == {1}


def test_a_run_is_a_function_of_its_configuration(tmp_path: Path) -> None:
    one, two = (study(tmp_path / name, seeds=1, sizes=[20]).records for name in "ab")
    assert [record["correct"] for record in one] == [record["correct"] for record in two]


def test_the_record_holds_costs_and_the_budget_is_the_same(tmp_path: Path) -> None:
    records = study(tmp_path, seeds=1, sizes=[20]).records
    assert {record["config"]["steps"] for record in records} == {2}
    assert all(record["parameters"] > 1000 and record["multiply_adds"] > 1e6 for record in records)


def test_a_run_that_fails_is_recorded_and_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPES, "convolution", type(RECIPES["convolution"])(learning_rate=1e37, reason=""))
    found = study(tmp_path, seeds=1, sizes=[20])
    assert [record["error"] for record in found.failures] == ["DivergedError: the loss is nan by step 2"]
    assert list(found.points) == [("vit-micro", 20)]


def test_a_sweep_chooses_a_rate_for_each_on_validation(tmp_path: Path) -> None:
    found = study(tmp_path, seeds=1, sizes=[20], lr_sweep=True)
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert len(lines) == 2 * 3 + 2
    base = {name: RECIPES[zoo.info(name).kind].learning_rate for name in TINY["models"]}
    for contestant in found.contestants:
        assert contestant.learning_rate in [base[contestant.name] * factor for factor in SWEEP]


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"seeds": 0}, ConfigError, "seeds=0: at least 1 is needed"),
        ({"steps": 0}, ConfigError, "steps=0: at least 1 is needed"),
        ({"workers": -1}, ConfigError, "workers=-1: at least 0 is needed"),
        ({"models": []}, ConfigError, "no models: name at least one"),
        ({"models": ["vit-micro", "vit-micro"]}, ConfigError, "models: vit-micro is named twice"),
        ({"models": ["vit-mico"]}, UnknownModelError, "Did you mean 'vit-micro'"),
        ({"sizes": [5]}, ConfigError, "sizes: 5 is less than one example for each of the 10 classes"),
        ({"sizes": [5000]}, DataError, "5,000 training examples asked for, 'digits' has 1,265 besides"),
        ({"data": "cifar"}, DataError, "Unknown source"),
        ({"image_size": 20}, ConfigError, "20"),
    ],
)
def test_a_question_that_does_not_fit_is_refused_before_training(
    tmp_path: Path, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text.replace("(", r"\(")):
        study(tmp_path, **options)


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot write results to"):
        study(tmp_path / "file")


def test_sizes_that_are_no_numbers() -> None:
    with pytest.raises(ConfigError, match="--sizes 10,many: 'many' is not a whole number"):
        datasize.command(sizes="10,many")


def test_default_sizes_end_with_all_there_are() -> None:
    sizes = default_sizes(open_digits())
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == open_digits().limit
    assert default_sizes(open_cards())[0] == 300


def test_the_budget_grows_within_bounds() -> None:
    assert steps_for(10, 2000) == 200
    assert steps_for(1_000_000, 2000) == 2000
    assert steps_for(300, 50) == 50


@pytest.mark.slow
def test_a_killed_study_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    code = (
        "import zoo; zoo.bench.data_size(models=['vit-micro'], data='digits', sizes=[20, 40, 60, 80], seeds=3, "
        f"steps=30, workers=1, progress=False, out={str(tmp_path)!r})"
    )
    results = tmp_path / "results.jsonl"
    process = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (results.exists() and results.read_text().count("\n") >= 2):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = results.read_text()
    assert 2 <= before.count("\n") < 12
    subprocess.run([sys.executable, "-c", code], check=True)
    after = results.read_text()
    assert after.startswith(before[: before.rindex("\n") + 1])
    keys = [json.loads(line)["key"] for line in after.splitlines()]
    assert len(keys) == len(set(keys)) == 12
