import json
from collections.abc import Callable
from dataclasses import replace
from statistics import mean

import pytest

from zoo.bench.learning_curve.report.chart import chart
from zoo.bench.learning_curve.results.study import Study

MakeStudy = Callable[..., Study]
WORSE, BETTER, CROSSING = [0.2, 0.3, 0.4, 0.5], [0.4, 0.5, 0.6, 0.7], [0.2, 0.4, 0.7, 0.9]


def test_points_and_runs_are_those_of_the_study(make_study: MakeStudy) -> None:
    study = make_study(BETTER, CROSSING)
    found = json.loads(json.dumps(chart(study), allow_nan=False))
    for each in found["contestants"]:
        assert [point["size"] for point in each["points"]] == study.sizes
        for point in each["points"]:
            known, runs = study.points[each["name"], point["size"]], study.runs(each["name"], point["size"])
            assert point["errors"]["score"] == pytest.approx([1 - known.value, 1 - known.high, 1 - known.low])
            assert [run["seed"] for run in point["runs"]] == [0, 1, 2]
            assert [run["errors"]["score"] for run in point["runs"]] == pytest.approx(
                [1 - run["accuracy"] for run in runs]
            )
            assert point["seconds"] == pytest.approx(mean(run["seconds"] for run in runs))


def test_operations_are_those_of_all_examples_seen_forward_and_backward(make_study: MakeStudy) -> None:
    """A set smaller than a batch is one batch: steps of 20 examples, not of 32."""
    study = make_study([0.5, 0.6], [0.5, 0.6], sizes=(20, 1000))
    points = chart(study)["contestants"][0]["points"]
    assert [point["operations"] for point in points] == [3 * 2_000_000 * 10 * 20, 3 * 2_000_000 * 10 * 32]


def test_a_failed_run_is_told_beside_the_others_and_alone(make_study: MakeStudy) -> None:
    study = make_study(BETTER, CROSSING, failed=[("vit", 100)])
    broken = {"config": {**study.records[0]["config"], "seed": 1}, "error": "killed"}
    records = [broken if record["config"] == broken["config"] else record for record in study.records]
    cnn, vit = chart(replace(study, records=records))["contestants"]
    assert [run.get("failed") for run in cnn["points"][0]["runs"]] == [None, "killed", None]
    assert "score" in cnn["points"][0]["errors"]
    assert vit["points"][0]["errors"] == {}
    assert [run["failed"] for run in vit["points"][0]["runs"]] == ["no memory"] * 3


def test_an_axis_is_offered_where_every_run_has_its_value(make_study: MakeStudy) -> None:
    study = make_study(BETTER, CROSSING)
    assert list(chart(study)["axes"]) == ["size", "seconds", "operations"]
    last = {key: value for key, value in study.records[-1].items() if key != "seconds"}
    assert list(chart(replace(study, records=[*study.records[:-1], last]))["axes"]) == ["size", "operations"]
    bare = [{key: record[key] for key in ("config", "accuracy", "correct")} for record in study.records]
    assert list(chart(replace(study, records=bare))["axes"]) == ["size"]


def test_the_crossover_is_drawn_where_it_was_measured_only(make_study: MakeStudy) -> None:
    study = make_study(BETTER, CROSSING)
    found, drawn = study.crossover(), chart(study)["crossovers"]["size"]
    assert found is not None
    assert found.size is not None
    assert drawn["at"] == [found.size.value, found.size.low, found.size.high]
    for cnn, vit in ((CROSSING, BETTER), (BETTER, BETTER), (WORSE, BETTER)):
        assert "size" not in chart(make_study(cnn, vit))["crossovers"]


def test_an_end_of_the_crossover_that_is_open_is_null(make_study: MakeStudy) -> None:
    drawn = chart(make_study([0.5] * 4, [0.3, 0.3, 0.3, 0.505]))["crossovers"]["size"]
    assert drawn["at"][2] is None


def test_chance_is_a_level_where_a_point_is_no_better(make_study: MakeStudy) -> None:
    study = make_study([0.1, 0.5, 0.6, 0.7], BETTER)
    chance = replace(study, data=replace(study.data, chance=0.1))
    assert [level["words"] for level in chart(chance)["levels"]] == ["guesses", "chance: always the largest class"]
    assert [level["words"] for level in chart(study)["levels"]] == ["guesses"]


def test_a_loss_is_drawn_as_it_is_and_has_no_percent(make_study: MakeStudy) -> None:
    study = make_study(BETTER, CROSSING)
    kept = [{"config": r["config"], "score": -r["accuracy"], "multiply_adds": 1} for r in study.records]
    drawn = chart(replace(study, records=kept, data=replace(study.data, metric="-loss", best=0.0, reference=None)))
    assert (drawn["measure"], drawn["error"], drawn["sign"], drawn["percent"]) == ("loss", "loss", -1, False)
    assert drawn["contestants"][0]["points"][0]["runs"][0]["errors"]["score"] == study.records[0]["accuracy"]


def test_the_vertical_axis_offers_what_the_runs_tell(make_study: MakeStudy, by_class: MakeStudy) -> None:
    plain = make_study(BETTER, CROSSING)
    assert [each["words"] for each in chart(plain)["vertical"]] == ["error", "accuracy"]
    drawn = chart(by_class(plain))
    assert [each["words"] for each in drawn["vertical"]][2:] == [
        "balanced accuracy", "accuracy of the worst class", "log-loss"
    ]  # fmt: skip
    for point in drawn["contestants"][0]["points"]:
        runs = [run["errors"] for run in point["runs"]]
        for name in ("balanced", "worst", "log_loss"):
            assert point["errors"][name][0] == pytest.approx(mean(run[name] for run in runs))
            assert point["errors"][name][1] <= point["errors"][name][0] <= point["errors"][name][2]


def test_a_crossover_stands_on_the_axis_of_seconds_too(make_study: MakeStudy) -> None:
    drawn = chart(make_study(BETTER, CROSSING))["crossovers"]
    assert list(drawn) == ["size", "seconds"]  # of operations, several points have the same
    assert drawn["seconds"]["words"].startswith("crossover ")
    assert drawn["seconds"]["words"].count(" s") == 3
