from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from zoo.bench.learning_curve.report import write_report
from zoo.bench.learning_curve.results.study import Study
from zoo.errors import DataError

MakeStudy = Callable[..., Study]
WORSE, BETTER, CROSSING = [0.2, 0.3, 0.4, 0.5], [0.4, 0.5, 0.6, 0.7], [0.2, 0.4, 0.7, 0.9]


@pytest.mark.parametrize("vit", [WORSE, CROSSING], ids=["none", "crossing"])
def test_a_report_has_all_its_files(make_study: MakeStudy, vit: list[float]) -> None:
    study = make_study(BETTER, vit)
    names = {path.name for path in write_report(study, "zoo bench data-size")}
    assert names == {
        "figure.png",
        "figure.svg",
        "compute.png",
        "compute.svg",
        "results.csv",
        "curves.csv",
        "summary.json",
        "report.html",
    }
    assert all((study.folder / name).stat().st_size > 100 for name in names)


def test_a_study_without_a_finished_run_has_a_report(make_study: MakeStudy) -> None:
    study = make_study([0.5], [0.5], sizes=(10,), failed=[("cnn", 10), ("vit", 10)])
    write_report(study, "zoo bench data-size")
    assert "No run has finished." in (study.folder / "report.html").read_text()


def test_perfect_models_have_a_report_too(make_study: Callable[..., Study]) -> None:
    study = make_study([1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0])
    write_report(study, "zoo bench data-size")
    assert (study.folder / "figure.png").exists()


def test_on_a_full_disk_the_report_names_what_is_missing_and_leaves_no_half_file(
    make_study: MakeStudy, limited_file_size: Callable[[int], AbstractContextManager[None]]
) -> None:
    study = make_study(BETTER, WORSE)
    (study.folder / "figure.png").write_text("of the study before")
    with (
        limited_file_size(10_000),
        pytest.raises(
            DataError, match=r"figure\.png, .*, compute\.png, compute\.svg, report\.html in .* File too large"
        ),
    ):
        write_report(study, "zoo bench data-size")
    assert {path.name for path in study.folder.iterdir()} == {"figure.png", "results.csv", "curves.csv", "summary.json"}
    assert (study.folder / "figure.png").read_text() == "of the study before"
