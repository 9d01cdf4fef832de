"""`zoo bench speed`: what was measured is stored, and the same command goes on from there."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from zoo import ConfigError
from zoo.bench.speed import compare
from zoo.bench.speed.command import command
from zoo.cli.app import build

ONE = ["--models", "vit-micro", "--work", "forward", "--precision", "fp32", "--threads", "1", "--rounds", "1"]


def invoked(folder: Path, *more: str) -> Any:
    return CliRunner().invoke(build(), ["bench", "speed", *ONE, "--folder", str(folder), *more])


@pytest.mark.parametrize("count", ["a", "0", "-1", "²"])
def test_threads_that_are_no_number_are_refused(count: str) -> None:
    with pytest.raises(ConfigError, match=f"--threads 1,{count}: '{count}' is not a number of threads"):
        command(threads=f"1,{count}")


def test_the_command_writes_its_table(tmp_path: Path) -> None:
    result = invoked(tmp_path / "speed", "--out", str(tmp_path / "speed.md"))
    assert result.exit_code == 0, result.output
    assert "vit-micro" in result.output
    assert (tmp_path / "speed.md").read_text().startswith("`zoo bench speed --models vit-micro")


def test_what_is_stored_is_shown_and_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = {"per_second": 12.5, "share": 0.5}
    monkeypatch.setattr(compare, "measure", lambda *_, **__: first)
    assert "12.5" in invoked(tmp_path).output
    monkeypatch.setattr(compare, "measure", lambda *_, **__: first | {"per_second": 99.5})
    again = invoked(tmp_path, "--out", str(tmp_path / "speed.md"))
    assert "12.5" in again.output
    assert "99.5" not in again.output
    assert "| vit-micro | forward | fp32 | 1 | 12.5 | 50% | - |" in (tmp_path / "speed.md").read_text()


def test_ctrl_c_keeps_what_is_measured_and_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def measure(*_: Any, work: str, **__: Any) -> dict[str, float]:
        calls.append(work)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return {"per_second": 12.5, "share": 0.5}

    monkeypatch.setattr(compare, "measure", measure)
    stopped = invoked(tmp_path, "--work", "forward,step")
    assert stopped.exit_code == 130
    assert "the same command goes on from there" in " ".join(stopped.output.split())
    assert invoked(tmp_path, "--work", "forward,step").exit_code == 0
    assert calls == ["forward", "step", "step"]


def test_a_measurement_that_fails_is_told_and_is_repeated_only_if_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> dict[str, float]:
        raise ValueError("no such shape")

    monkeypatch.setattr(compare, "measure", fails)
    failed = invoked(tmp_path)
    assert failed.exit_code == 1
    assert "failed: ValueError: no such shape" in failed.output
    monkeypatch.setattr(compare, "measure", lambda *_, **__: {"per_second": 12.5, "share": 0.5})
    assert invoked(tmp_path).exit_code == 1
    assert "12.5" in invoked(tmp_path, "--retry-failed").output
