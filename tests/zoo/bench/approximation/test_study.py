"""`zoo bench approximation`: its runs, its options and its report."""

from pathlib import Path
from typing import Any

import pytest

from zoo.bench.approximation.errors import MECHANISMS
from zoo.bench.approximation.study import STUDY, runs, scales_in
from zoo.errors import ConfigError


def test_every_mechanism_has_the_same_inputs() -> None:
    of: dict[str, list[Any]] = {name: [] for name in MECHANISMS}
    for config in runs():
        of[config["mechanism"]].append({key: value for key, value in config.items() if key != "mechanism"})
    assert all(each == of["performer"] for each in of.values())
    assert {config["seed"] for config in runs()} == set(range(5))


@pytest.mark.parametrize("text", ["", "a", "0", "1,-1", "inf"])
def test_a_spread_is_a_number_above_zero(text: str) -> None:
    with pytest.raises(ConfigError, match=f"--scales {text}"):
        scales_in(text)


def test_sizes_and_mechanisms_are_checked_before_anything_runs() -> None:
    with pytest.raises(ConfigError, match="--sizes 8,x"):
        list(runs(sizes="8,x"))
    with pytest.raises(ConfigError, match="--mechanisms nystroem"):
        list(runs(mechanisms="nystroem"))


def test_the_study_runs_and_writes_its_report(tmp_path: Path) -> None:
    options: dict[str, Any] = {"mechanisms": "nystrom,window", "sizes": "4,16", "scales": "0.25,2", "length": 16}
    STUDY.run(tmp_path, **options, head_dim=4, seeds=2, workers=0, progress=False)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"weights.csv", "output.csv", "approximation.png", "approximation.svg", "report.md"} <= names
    page = (tmp_path / "report.md").read_text()
    assert "window (keys read) is near nowhere." in page
    assert "nystrom (landmarks) puts 90% of the weight right from" in page
