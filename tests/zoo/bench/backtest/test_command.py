import re
from collections.abc import Callable
from pathlib import Path

import pytest

from zoo.bench import Study
from zoo.bench.backtest.command import Row, command, rows_of, shares
from zoo.errors import ConfigError

MakeStudy = Callable[..., Study]
Keep = Callable[..., Path]
SIZES = (100, 300, 1000, 3000)
POWER = [1 - 3 * size**-0.4 for size in SIZES]
LATER = [0.1, 0.25, 0.5, 0.95]


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")


def test_every_study_below_a_folder_is_checked(
    make_study: MakeStudy, keep: Keep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(make_study(POWER, LATER), tmp_path / "a")
    keep(make_study(POWER, POWER), tmp_path / "deep" / "b")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "results.jsonl").write_text("hello\n")
    command([tmp_path])
    shown = capsys.readouterr().out
    assert "a: toy" in shown
    assert "b: toy" in shown
    assert len(re.findall("accuracy of (?:cnn|vit) at 3,000 examples", shown)) == 4
    assert "examples from which vit leads cnn, up to 3,000" in shown
    counts = re.search(r"score (\d) of 4, labels (\d) of 4, .* in all (\d+) of (\d+), (\d+) %", shown)
    assert counts
    assert int(counts[5]) == round(100 * int(counts[3]) / int(counts[4]))
    assert "Left out: " in shown


def test_a_law_is_predicted_and_a_late_jump_is_not(make_study: MakeStudy) -> None:
    rows = {(row.kind, row.what.split()[2]): row for row in rows_of(make_study(POWER, LATER))}
    assert rows["score", "cnn"].held
    assert rows["score", "cnn"].measured.startswith("0.8")
    assert not rows["score", "vit"].held
    assert not rows["labels", "vit"].held
    assert rows["labels", "vit"].measured == "3,000"


def test_a_crossing_is_checked_against_the_one_that_came(make_study: MakeStudy) -> None:
    (row,) = [row for row in rows_of(make_study([0.5, 0.52, 0.54, 0.56], LATER)) if row.kind == "crossing"]
    assert row.what == "examples from which vit leads cnn, up to 3,000"
    assert 1000 <= float(row.measured.replace(",", "")) < 3000


def test_shares_are_counted_by_kind() -> None:
    rows = [Row("a", kind, "", "", "", held) for kind, held in (("score", True), ("score", False), ("labels", True))]
    assert shares(rows) == [
        "Intervals of 95 % that hold what was measured: score 1 of 2, labels 1 of 1; in all 2 of 3, 67 %."
    ]


def test_curves_that_are_too_short_or_rise_are_counted(
    make_study: MakeStudy, keep: Keep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(make_study([0.2, 0.5], [0.2, 0.5], sizes=(100, 300)), tmp_path / "short")
    keep(make_study(POWER, [0.3, 0.6, 0.4, 0.6]), tmp_path / "rising")
    command([tmp_path])
    shown = capsys.readouterr().out
    assert "Not predicted: 2 curves with 3 sizes above chance or fewer, where a back-test takes 4." in shown
    assert "Not predicted: 1 curve with an error that rises." in shown


def test_folders_without_studies_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"{tmp_path}: no results of a learning curve there; `zoo bench data-size"):
        command([tmp_path])
    with pytest.raises(ConfigError, match=r"nowhere: there is no such folder"):
        command([tmp_path / "nowhere"])
