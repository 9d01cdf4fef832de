import csv
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from zoo.bench.learning_curve.report.csv_tables import curves_csv, results_csv
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.learning_curve.training.tested import unpack, unpack_classes

MakeStudy = Callable[..., Study]
WORSE, BETTER = [0.2, 0.3, 0.4, 0.5], [0.4, 0.5, 0.6, 0.7]


def rows_of(text: str) -> list[dict[str, Any]]:
    return list(csv.DictReader(text.splitlines()))


def test_the_csv_has_a_line_for_each_run(make_study: MakeStudy) -> None:
    rows = rows_of(results_csv(make_study(BETTER, WORSE, failed=[("vit", 100)])))
    assert len(rows) == 24
    assert [row["error"] for row in rows if row["model"] == "vit"][:3] == ["no memory"] * 3


def test_curves_have_the_columns_of_lcdb_and_the_values_of_the_records(make_study: MakeStudy) -> None:
    study = make_study(BETTER, WORSE, failed=[("vit", 100)])
    text = curves_csv(study)
    assert text.splitlines()[0] == (
        "openmlid,learner,size_train,size_test,outer_seed,inner_seed,traintime,score_train,score_valid,score_test"
    )
    finished = [record for record in study.records if "error" not in record]
    rows = rows_of(text)
    assert len(rows) == len(finished) == 21
    for row, record in zip(rows, finished, strict=True):
        run = record["config"]
        assert (row["openmlid"], row["learner"], int(row["size_train"])) == ("toy", run["model"], run["size"])
        assert (int(row["outer_seed"]), int(row["inner_seed"]), int(row["size_test"])) == (0, run["seed"], 500)
        assert (float(row["score_test"]), float(row["score_valid"])) == (record["accuracy"], record["validation"])
        assert (float(row["traintime"]), row["score_train"]) == (record["seconds"], "")


def test_curves_of_a_loss_are_positive_and_of_records_without_a_value_are_empty_there(make_study: MakeStudy) -> None:
    study = make_study(BETTER, WORSE)
    kept = ({"config": record["config"], "score": -0.25} for record in study.records)
    loss = replace(study, records=list(kept), data=replace(study.data, metric="-loss", best=0.0))
    row = rows_of(curves_csv(loss))[0]
    assert row["score_test"] == "0.25"
    assert [row[name] for name in ("size_test", "traintime", "score_valid")] == [""] * 3


def test_curves_are_read_as_lcdb_reads_them(make_study: MakeStudy) -> None:
    """By the grouping of `get_curve_from_dataframe`: anchors, and the scores of all seeds at each."""
    study = make_study(BETTER, WORSE)
    rows = [row for row in rows_of(curves_csv(study)) if row["learner"] == "cnn"]
    anchors = sorted({int(row["size_train"]) for row in rows})
    tests = [[float(row["score_test"]) for row in rows if int(row["size_train"]) == anchor] for anchor in anchors]
    assert anchors == study.sizes
    assert tests == [[run["accuracy"] for run in study.runs("cnn", size)] for size in study.sizes]


def test_operations_and_measures_by_class_have_columns(make_study: MakeStudy, by_class: MakeStudy) -> None:
    study = by_class(make_study(BETTER, WORSE))
    row, record = rows_of(results_csv(study))[0], study.records[0]
    right, classes = unpack(record["correct"]), unpack_classes(record["classes"])
    assert float(row["operations"]) == 3 * 2_000_000 * 10 * 32
    assert float(row["balanced_accuracy"]) == pytest.approx(record["accuracy"])  # classes are of one size
    assert (row["worst_class"], float(row["worst_class_accuracy"])) == ("4", right[classes == 4].mean())
    assert float(row["log_loss"]) == record["log_loss"]
    old = rows_of(results_csv(make_study(BETTER, WORSE)))[0]
    assert [old[name] for name in ("balanced_accuracy", "worst_class", "log_loss")] == [""] * 3
