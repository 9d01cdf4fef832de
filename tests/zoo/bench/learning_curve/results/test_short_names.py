"""Paths of folders in tables and figures."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from zoo.bench.learning_curve.report import write_report
from zoo.bench.learning_curve.results.short_names import short_name, short_names, with_short_names
from zoo.bench.learning_curve.results.study import Study

LONG = "local-dir:/home/somebody/projects/of/this/year/runs/vit"


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["vit-micro", "probe:hf-hub:me/mine"], ["vit-micro", "probe:hf-hub:me/mine"]),
        ([LONG, f"probe:{LONG}"], ["local-dir:…/vit", "probe:local-dir:…/vit"]),
        (["local-dir:/a/b/one/vit", "local-dir:/a/b/two/vit"], ["local-dir:…/one/vit", "local-dir:…/two/vit"]),
        (["local-dir:/a/b/c/vit", "local-dir:/x/c/vit"], ["local-dir:…/b/c/vit", "local-dir:/x/c/vit"]),
        (["local-dir:/vit"], ["local-dir:/vit"]),
    ],
)
def test_a_path_is_shown_by_its_last_parts_that_tell_it_apart(names: list[str], shown: list[str]) -> None:
    assert short_names(names) == dict(zip(names, shown, strict=True))


def test_a_study_and_its_files_have_short_names(make_study: Callable[..., Study], tmp_path: Path) -> None:
    plain = make_study([0.3] * 4, [0.5] * 4)
    for record in plain.records:
        record["config"]["model"] = {"vit": LONG}.get(record["config"]["model"], "cnn")
    cnn, vit = plain.models
    study = with_short_names(replace(plain, models=[cnn, replace(vit, name=LONG)]))
    assert [entry.name for entry in study.models] == ["cnn", short_name(LONG)]
    assert study.points[short_name(LONG), 300].value == pytest.approx(0.5, abs=0.1)
    write_report(replace(study, folder=tmp_path), "zoo bench data-size")
    for name in ("report.html", "results.csv", "curves.csv", "summary.json", "figure.svg"):
        assert "/home/somebody" not in (tmp_path / name).read_text(encoding="utf-8")
    assert "local-dir:…/vit" in (tmp_path / "results.csv").read_text(encoding="utf-8")


def test_a_study_without_paths_stays_itself(make_study: Callable[..., Study]) -> None:
    study = make_study([0.3] * 4, [0.5] * 4)
    assert with_short_names(study) is study
