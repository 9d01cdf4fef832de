from pathlib import Path

import pytest
import zoo_study.plugin
from typer.testing import CliRunner
from zoo_study.window_error import STUDY

from zoo import Registry
from zoo.cli.app import build
from zoo.registry import using


def test_the_study_takes_fewer_than_sixty_lines() -> None:
    files = Path(zoo_study.plugin.__file__).parent.glob("*.py")
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) < 60


def test_the_command_writes_the_report_and_does_no_run_twice(tmp_path: Path) -> None:
    options = ["bench", "window-error", "--seeds", "2", "--workers", "0", "--out", str(tmp_path)]
    with using(Registry([zoo_study.plugin])):
        first = CliRunner().invoke(build(), options)
        again = CliRunner().invoke(build(), options)
    assert first.exit_code == 0, first.output
    assert "6 runs, 1 at a time" in first.output
    assert "All 6 runs are done already." in again.output
    assert "A window of 64 on each side leaves out" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_a_wider_window_leaves_out_less(tmp_path: Path) -> None:
    records = STUDY.run(tmp_path, widths="8,64,256", seeds=1, workers=0, progress=False)
    narrow, wide, full = (record["difference"] for record in records)
    assert narrow > wide > full == pytest.approx(0, abs=1e-6)
