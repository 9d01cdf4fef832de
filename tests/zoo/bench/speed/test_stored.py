"""Measurements on disk: those of other machines, packages and threads are never taken for these."""

from pathlib import Path
from typing import Any

import pytest

from zoo.bench.speed import stored
from zoo.bench.speed.stored import here, measured, processor
from zoo.bench.study.progress import NoProgress
from zoo.errors import FolderInUseError

WORK = "speed_work:count"


class Said(NoProgress):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a measurement that writes down that it was made, and on how many threads."""
    (tmp_path / "speed_work.py").write_text(
        "import torch\n"
        "def count(config):\n"
        "    with open(config['log'], 'a') as file: print(config['case'], file=file)\n"
        "    return {'seconds': 1.0, 'torch_threads': torch.get_num_threads()}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / "log"


def configs(log: Path, *cases: str, threads: int = 1, **other: Any) -> list[dict[str, Any]]:
    return [{"case": case, "log": str(log), "threads": threads, **here(), **other} for case in cases]


def done(folder: Path, asked: list[dict[str, Any]], said: NoProgress | None = None) -> list[Any]:
    return list(measured(WORK, asked, folder, said or NoProgress()))[-1]


def test_each_measurement_is_stored_when_it_is_done(log: Path, tmp_path: Path) -> None:
    running = measured(WORK, configs(log, "a", "b", "c"), tmp_path / "speed", NoProgress())
    assert [len(next(running)) for _ in range(3)] == [0, 1, 2]
    running.close()
    assert [record["config"]["case"] for record in done(tmp_path / "speed", configs(log, "a", "b", "c"))] == list("abc")
    assert log.read_text().split() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"processor": "another"}, "another processor"),
        ({"packages": "torch 1.0"}, "another packages"),
        ({"code": "0", "products": "other"}, "another code, products"),
    ],
)
def test_what_was_measured_elsewhere_is_measured_again_and_told(
    other: dict[str, Any], told: str, log: Path, tmp_path: Path
) -> None:
    said, folder = Said(), tmp_path / "speed"
    done(folder, configs(log, "a", **other))
    assert len(done(folder, configs(log, "a", "b"), said)) == 2
    assert said.lines == [f"1 measurement of the same in {folder} is not used: {told}"]
    assert log.read_text().split() == ["a", "a", "b"]


def test_each_number_of_threads_is_measured_on_so_many(log: Path, tmp_path: Path) -> None:
    both = configs(log, "a") + configs(log, "a", threads=2)
    assert [record["torch_threads"] for record in done(tmp_path / "speed", both)] == [1, 2]
    assert len(done(tmp_path / "speed", configs(log, "a"))) == 1
    assert log.read_text().split() == ["a", "a"]


def test_two_commands_do_not_measure_into_one_folder(log: Path, tmp_path: Path) -> None:
    running = measured(WORK, configs(log, "a"), tmp_path / "speed", NoProgress())
    next(running)
    with pytest.raises(FolderInUseError):
        done(tmp_path / "speed", configs(log, "a"))
    running.close()


def test_the_key_has_the_processor_and_changes_with_packages_and_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "my_suite"
    package.mkdir()
    (package / "__init__.py").write_text("CASES = ()\n")
    first = here(package="my_suite.cases")
    assert first["processor"] == processor() != ""
    assert here(package="my_suite.cases") == first != here()
    stored._code.cache_clear()
    (package / "__init__.py").write_text("CASES = []\n")
    assert here(package="my_suite.cases")["code"] != first["code"]
    stored._packages.cache_clear()
    monkeypatch.setattr(stored, "distributions", lambda: [])
    assert here()["packages"] != first["packages"]
    stored._packages.cache_clear()
