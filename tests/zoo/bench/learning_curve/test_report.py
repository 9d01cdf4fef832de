import csv
import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest

from zoo.bench.learning_curve.figure import draw
from zoo.bench.learning_curve.report import write_report
from zoo.bench.learning_curve.results import Study
from zoo.bench.learning_curve.tuning import Tuning
from zoo.errors import DataError

MakeStudy = Callable[..., Study]
WORSE, BETTER, CROSSING = [0.2, 0.3, 0.4, 0.5], [0.4, 0.5, 0.6, 0.7], [0.2, 0.4, 0.7, 0.9]


@pytest.mark.parametrize("vit", [WORSE, CROSSING], ids=["none", "crossing"])
def test_a_report_has_all_its_files(make_study: MakeStudy, vit: list[float]) -> None:
    study = make_study(BETTER, vit)
    names = {path.name for path in write_report(study, "zoo bench data-size")}
    assert names == {"figure.png", "figure.svg", "results.csv", "summary.json", "report.html"}
    assert all((study.folder / name).stat().st_size > 100 for name in names)


def test_the_page_stands_alone_and_escapes_what_it_quotes(make_study: MakeStudy) -> None:
    study = make_study(BETTER, WORSE)
    write_report(study, "zoo bench data-size --data folder:<me>")
    page = (study.folder / "report.html").read_text()
    assert "Toys &lt;of&gt; wood." in page
    assert "folder:&lt;me&gt;" in page
    assert "cnn is ahead of vit at every size" in page
    assert "<svg" in page
    assert not any(word in page for word in ("<script", "<link", 'src="http'))


def test_the_summary_is_json_without_infinities(make_study: MakeStudy) -> None:
    study = make_study([0.5] * 4, [0.3, 0.3, 0.3, 0.505])
    write_report(study, "zoo bench data-size")
    text = (study.folder / "summary.json").read_text()
    assert "Infinity" not in text
    assert json.loads(text)["contestants"]["vit"]["accuracy"]["100"]["value"] == pytest.approx(0.3, abs=0.05)


def test_the_csv_has_a_line_for_each_run(make_study: MakeStudy) -> None:
    study = make_study(BETTER, WORSE, failed=[("vit", 100)])
    write_report(study, "zoo bench data-size")
    rows = list(csv.DictReader((study.folder / "results.csv").read_text().splitlines()))
    assert len(rows) == 24
    assert [row["error"] for row in rows if row["model"] == "vit"][:3] == ["no memory"] * 3


def test_a_study_without_a_finished_run_has_a_report(make_study: MakeStudy) -> None:
    study = make_study([0.5], [0.5], sizes=(10,), failed=[("cnn", 10), ("vit", 10)])
    write_report(study, "zoo bench data-size")
    assert "No run has finished." in (study.folder / "report.html").read_text()


def test_the_report_of_one_model_speaks_of_no_crossing(make_study: MakeStudy) -> None:
    study = make_study(BETTER, WORSE)
    one = replace(study, models=study.models[:1], records=[r for r in study.records if r["config"]["model"] == "cnn"])
    write_report(one, "zoo bench data-size --models cnn")
    page = (study.folder / "report.html").read_text()
    assert "No run has finished." not in page
    assert "Crossover of" not in page


def test_perfect_models_have_a_report_too(make_study: Callable[..., Study]) -> None:
    study = make_study([1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0])
    write_report(study, "zoo bench data-size")
    assert (study.folder / "figure.png").exists()


def test_models_at_chance_are_told_first_and_nothing_is_drawn_through_them(make_study: MakeStudy) -> None:
    study = make_study([0.1] * 4, [0.1] * 4)
    study = replace(study, data=replace(study.data, chance=0.1, reference=None))
    write_report(study, "zoo bench data-size")
    page = (study.folder / "report.html").read_text()
    found = page[page.index('class="found"') :]
    assert found.startswith('class="found"><p>All models are at chance: more steps or examples are needed.</p>')
    assert "No curve is fitted to what is at chance at every size: cnn, vit." in page
    assert "Crossover of cnn and vit: none" in page
    (axes,) = draw(study).axes
    assert "crossover" not in " ".join(text.get_text() for text in axes.texts)
    assert [str(line.get_label()).partition(":")[0] for line in axes.lines] == [
        "cnn (CNN, 1 k parameters)",
        "vit (self-attention, 1 k parameters)",
        "chance",
    ]
    assert json.loads((study.folder / "summary.json").read_text())["crossover"] is None


def test_reasons_stand_below_the_table_of_recipes(make_study: MakeStudy) -> None:
    study = make_study(BETTER, WORSE)
    write_report(study, "zoo bench data-size")
    page = (study.folder / "report.html").read_text()
    recipes = page[page.index("<h2>Recipes") :]
    assert recipes.index("</table>") < recipes.index("<li>cnn, vit: the same for every contestant")
    assert "No rate was chosen for cnn, vit: it is the recipe's." in recipes


def test_the_tuning_budget_of_every_model_stands_in_the_report(make_study: MakeStudy) -> None:
    study = make_study(BETTER, WORSE)
    scores = ((1e-3, 0.3), (3e-3, 0.41234), (1e-2, None))
    tuning = Tuning(size=300, steps=77, seeds=(1000, 1001), scores=scores, learning_rate=3e-3, seconds=1234.5)
    kept = replace(tuning, scores=((1e-3, 0.5), (3e-3, 0.4), (1e-2, 0.3)), learning_rate=1e-3, kept=True)
    models = [entry.tuned(each) for entry, each in zip(study.models, (tuning, kept), strict=True)]
    write_report(replace(study, models=models), "zoo bench data-size")
    page = (study.folder / "report.html").read_text()
    rows = [
        ["cnn", "0.300", "<b>0.412</b>", "failed", "6", "1,234", "300", "77", "this study"],
        ["vit", "<b>0.500</b>", "0.400", "0.300", "6", "1,234", "300", "77", "the package"],
    ]
    for row in rows:
        assert "".join(f"<td>{cell}</td>" for cell in row) in page
    assert "At the edge of the grid, so that a better rate may lie beyond: vit." in page
    told = json.loads((study.folder / "summary.json").read_text())["contestants"]
    assert (told["cnn"]["learning_rate"], told["cnn"]["tuning"]["seconds"]) == (3e-3, 1234.5)
    assert told["cnn"]["recipe"]["optimizer"] == "muon-hidden"


def test_no_number_has_a_minus_before_zero(make_study: MakeStudy) -> None:
    study = make_study([0.5] * 4, [0.1, 0.3, 0.3, 0.3])
    level = [{**record, "score": 0.0} for record in study.records]
    for record in level:
        del record["accuracy"], record["correct"]
    loss = replace(study, records=level, data=replace(study.data, metric="-loss", best=0.0, reference=None))
    for each in (study, loss):
        write_report(each, "zoo bench data-size")
        assert not re.search(r"[>(]-0[ .<]", (study.folder / "report.html").read_text())


def test_the_title_of_the_figure_fits_its_width(make_study: MakeStudy) -> None:
    figure = draw(make_study(BETTER, WORSE))
    figure.canvas.draw()
    (title,) = [text for text in figure.texts if text.get_fontweight() == "bold"]
    assert title.get_window_extent().x1 <= figure.bbox.x1


def test_on_a_full_disk_the_report_names_what_is_missing_and_leaves_no_half_file(
    make_study: MakeStudy, limited_file_size: Callable[[int], AbstractContextManager[None]]
) -> None:
    study = make_study(BETTER, WORSE)
    (study.folder / "figure.png").write_text("of the study before")
    with (
        limited_file_size(10_000),
        pytest.raises(DataError, match=r"figure\.png, figure\.svg, report\.html in .* File too large"),
    ):
        write_report(study, "zoo bench data-size")
    assert {path.name for path in study.folder.iterdir()} == {"figure.png", "results.csv", "summary.json"}
    assert (study.folder / "figure.png").read_text() == "of the study before"
