import json
import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

from zoo.bench.learning_curve.report.chart import chart
from zoo.bench.learning_curve.report.json_summary import summary
from zoo.bench.learning_curve.report.measures_table import class_rows, compute_rows
from zoo.bench.learning_curve.report.page import page
from zoo.bench.learning_curve.report.table import score_text
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.learning_curve.training.tuning import Tuning

MakeStudy = Callable[..., Study]
WORSE, BETTER, CROSSING = [0.2, 0.3, 0.4, 0.5], [0.4, 0.5, 0.6, 0.7], [0.2, 0.4, 0.7, 0.9]
HOSTILE = "</script><script>document.title='taken'</script><b title=\"'&amp;"


def written(study: Study, command: str = "zoo bench data-size") -> str:
    return page(study, command, '<?xml version="1.0"?><svg id="figure"></svg>')


def test_the_page_escapes_what_it_quotes(make_study: MakeStudy) -> None:
    text = written(make_study(BETTER, WORSE), "zoo bench data-size --data folder:<me>")
    assert "Toys &lt;of&gt; wood." in text
    assert "folder:&lt;me&gt;" in text
    assert "cnn is ahead of vit at every size" in text
    assert '<svg id="figure">' in text


def test_the_page_names_no_other_file_and_forbids_every_request(make_study: MakeStudy) -> None:
    text = written(make_study(BETTER, CROSSING))
    script = text[text.rindex("<script>") + len("<script>") : text.rindex("</script>")]
    digest = b64encode(sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy.split("; ") == [
        "default-src 'none'", "base-uri 'none'", "form-action 'none'", "style-src 'unsafe-inline'",
        "img-src data:", f"script-src 'sha256-{digest}'",
    ]  # fmt: skip
    assert text.index("Content-Security-Policy") < text.index("<style")
    assert not re.search(r"<link|<img|<iframe|<script[^>]+src|\bsrc=|@import|url\((?!#)|href=", text)


def test_hostile_names_stay_text_and_come_through_the_json_whole(make_study: MakeStudy, renamed: MakeStudy) -> None:
    study = renamed(make_study(BETTER, CROSSING), "vit", HOSTILE)
    text = written(study)
    (data,) = re.findall(r'<script type="application/json" id="study">(.*?)</script>', text)
    assert json.loads(data) == json.loads(json.dumps(chart(study)))
    assert json.loads(data)["contestants"][1]["name"] == HOSTILE
    assert text.count("<script") == text.count("</script>") == 2
    assert '<b title="' not in text


def test_a_study_without_a_finished_run_says_so(make_study: MakeStudy) -> None:
    assert "No run has finished." in written(make_study([0.5], [0.5], sizes=(10,), failed=[("cnn", 10), ("vit", 10)]))


def test_the_page_of_one_model_speaks_of_no_crossing(make_study: MakeStudy) -> None:
    study = make_study(BETTER, WORSE)
    text = written(replace(study, models=study.models[:1], records=study.records[:12]))
    assert "No run has finished." not in text
    assert "Crossover of" not in text
    assert 'class="found"' not in text


def test_models_at_chance_are_told_first_and_no_curve_is_fitted(make_study: MakeStudy) -> None:
    study = make_study([0.1] * 4, [0.1] * 4)
    study = replace(study, data=replace(study.data, chance=0.1, reference=None))
    text = written(study)
    found = text[text.index('class="found"') :]
    assert found.startswith('class="found"><p>All models are at chance: more steps or examples are needed.</p>')
    assert "No curve is fitted to what is at chance at every size: cnn, vit." in text
    assert "Crossover of cnn and vit: none" in text
    assert "Grey: at chance, not clearly above 0.100" in text
    assert summary(study)["crossover"] is None


def test_each_recipe_is_a_sentence_of_its_model_and_the_reason_stands_once(make_study: MakeStudy) -> None:
    text = written(make_study(BETTER, WORSE))
    recipes = text[text.index("<h2>Recipes") :]
    assert re.findall(r"<dt>.*? (\w+)</dt>\n<dd>(Muon on matrices [^<]{200,})</dd>", recipes, re.DOTALL)[1][0] == "vit"
    assert recipes.count("the same for every contestant") == 1
    assert "No rate was chosen for cnn, vit: it is the recipe&#39;s." in recipes


def test_the_tuning_budget_of_every_model_stands_in_the_report(make_study: MakeStudy) -> None:
    study = make_study(BETTER, WORSE)
    scores = ((1e-3, 0.3), (3e-3, 0.41234), (1e-2, None))
    tuning = Tuning(size=300, steps=77, seeds=(1000, 1001), scores=scores, learning_rate=3e-3, seconds=1234.5)
    kept = replace(tuning, scores=((1e-3, 0.5), (3e-3, 0.4), (1e-2, 0.3)), learning_rate=1e-3, kept=True)
    models = [entry.tuned(each) for entry, each in zip(study.models, (tuning, kept), strict=True)]
    text = written(replace(study, models=models))
    rows = {
        "cnn": ["0.300", "<b>0.412</b>", "failed", "6", "1,234", "300", "77", "this study"],
        "vit": ["<b>0.500</b>", "0.400", "0.300", "6", "1,234", "300", "77", "the package"],
    }
    for name, cells in rows.items():
        assert f'<th scope="row">{name}</th>' + "".join(f"<td>{cell}</td>" for cell in cells) in text
    assert "At the edge of the grid, so that a better rate may lie beyond: vit." in text
    told = summary(replace(study, models=models))["contestants"]
    assert (told["cnn"]["learning_rate"], told["cnn"]["tuning"]["seconds"]) == (3e-3, 1234.5)
    assert told["cnn"]["recipe"]["optimizer"] == "muon-hidden"


def test_no_number_has_a_minus_before_zero(make_study: MakeStudy) -> None:
    study = make_study([0.5] * 4, [0.1, 0.3, 0.3, 0.3])
    level = [{**record, "score": 0.0} for record in study.records]
    for record in level:
        del record["accuracy"], record["correct"]
    loss = replace(study, records=level, data=replace(study.data, metric="-loss", best=0.0, reference=None))
    for each in (study, loss):
        assert not re.search(r"[>(]-0[ .<]", written(each))


def test_a_table_has_headings_and_a_box_that_scrolls(make_study: MakeStudy) -> None:
    text = written(make_study(BETTER, WORSE))
    label = "Test accuracy by training examples"
    assert f'<div class="wide" role="region" aria-label="{label}" tabindex="0"><table>' in text
    assert '<tr><th scope="row">100</th><td>10</td>' in text


def test_an_extrapolated_crossing_has_its_back_test_on_the_page(make_study: MakeStudy) -> None:
    study = make_study(BETTER, [0.1, 0.25, 0.45, 0.67])
    found = study.crossover()
    assert found is not None
    assert found.kind == "extrapolated"
    (line,) = re.findall(r"<p>(Crossover of cnn and vit.*?)</p>", written(study))
    assert line.startswith(
        "Crossover of cnn and vit: none up to 3,000. Extrapolated, the fitted curves cross at about "
    )
    assert "Back-test: the sizes up to 1,000 predict" in line
    short = make_study(BETTER[:3], [0.1, 0.25, 0.5], sizes=(100, 300, 1000))
    if (found := short.crossover()) and found.kind == "extrapolated":
        assert "None is extrapolated, since the smaller sizes give no back-test of it." in written(short)


def test_measures_by_class_have_a_table_and_old_results_a_dash(make_study: MakeStudy, by_class: MakeStudy) -> None:
    study = by_class(make_study(BETTER, WORSE))
    rows = class_rows(study)
    assert [row[:2] for row in rows[:4]] == [
        ["100", "balanced accuracy"], ["", "worst class"], ["", "log-loss"], ["300", "balanced accuracy"]
    ]  # fmt: skip
    scores = study.class_scores["cnn", 100]
    assert scores.worst
    assert scores.worst.value == 0  # the fixture's last classes have no right answer
    assert rows[1][2] == f"0.000 ({scores.worst_class})"
    assert f"<td>{rows[1][2]}</td>" in written(study)
    old = make_study(BETTER, WORSE)
    assert all(row[2:] == ["-", "-"] for row in class_rows(old))
    first = [*study.records[:1], *old.records[1:3], *study.records[3:]]  # one run that tells it, of three
    assert class_rows(replace(study, records=first))[0][2:] == ["-", rows[0][3]]


def test_the_best_for_a_budget_stands_with_its_examples(make_study: MakeStudy) -> None:
    study = make_study(BETTER, CROSSING)
    rows = compute_rows(study, "seconds")
    assert rows[0][1:] == ["cnn", f"{score_text(study, study.points['cnn', 100])} (100)", rows[0][3]]
    assert rows[-1][1] == "vit"
    assert rows[-1][3].endswith(" (3,000)")
    text = written(study)
    assert "Best by seconds of training" in text
    assert all(f"<td>{cell}</td>" in text for cell in rows[-1][1:])
