"""A command that Ctrl-C stops, and that goes on later."""

from pathlib import Path

import pytest
import typer
from rich.console import Console

import zoo.bench
from zoo.bench.interruption import resumable


def test_ctrl_c_ends_a_command_with_130(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as stopped, resumable(tmp_path, Console(width=500)):
        raise KeyboardInterrupt
    assert stopped.value.exit_code == 130
    assert f"Finished runs are in {tmp_path}: the same command goes on from there." in capsys.readouterr().out


def test_plugins_find_it_in_zoo_bench() -> None:
    assert zoo.bench.resumable is resumable
