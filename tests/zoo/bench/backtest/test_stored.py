import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from zoo.bench import Study
from zoo.bench.backtest.stored import studies_in, study_folders
from zoo.bench.learning_curve.report import write_report
from zoo.errors import DataError

MakeStudy = Callable[..., Study]
Keep = Callable[..., Path]
CNN, VIT = [0.4, 0.5, 0.6, 0.7], [0.2, 0.3, 0.4, 0.5]


def test_a_stored_study_has_the_points_of_the_one_that_was_run(
    make_study: MakeStudy, keep: Keep, tmp_path: Path
) -> None:
    study = make_study(CNN, VIT)
    (found,) = studies_in(keep(study, tmp_path / "a"))
    assert found.points == study.points
    assert (found.sizes, found.seeds, found.data.metric) == (study.sizes, 3, "accuracy")
    assert [entry.name for entry in found.models] == ["cnn", "vit"]
    assert found.models[0].parameters == 1000


def test_chance_and_the_best_score_are_those_of_the_report(make_study: MakeStudy, keep: Keep, tmp_path: Path) -> None:
    study = make_study(CNN, VIT)
    study = replace(study, data=replace(study.data, chance=0.25), folder=tmp_path)
    write_report(study, "zoo bench data-size")
    (found,) = studies_in(keep(study, tmp_path))
    assert found.data.chance == 0.25
    (tmp_path / "summary.json").write_text("{}")
    assert studies_in(tmp_path)[0].data.chance is None


def test_studies_on_several_data_in_one_folder_are_apart(make_study: MakeStudy, keep: Keep, tmp_path: Path) -> None:
    study = make_study(CNN, VIT)
    keep(study, tmp_path)
    keep(study, tmp_path, "other")
    assert [each.data.name for each in studies_in(tmp_path)] == ["toy", "other"]


def test_of_two_recipes_the_one_with_more_runs_is_taken(make_study: MakeStudy, keep: Keep, tmp_path: Path) -> None:
    study = make_study(CNN, VIT)
    fewer = replace(study, records=[{**each, "accuracy": 0.9} for each in study.records[:3]])
    keep(fewer, tmp_path, learning_rate=9.0)
    keep(study, tmp_path)
    (found,) = studies_in(tmp_path)
    assert found.points == study.points
    assert found.models[0].learning_rate == 0.1


def test_shards_are_read_as_one_study(make_study: MakeStudy, keep: Keep, tmp_path: Path) -> None:
    study = make_study(CNN, VIT)
    for number in (1, 2):
        part = replace(study, records=study.records[number - 1 :: 2])
        keep(part, tmp_path / "s" / f"shard-{number}-of-2")
    assert study_folders(tmp_path) == [tmp_path / "s"]
    (found,) = studies_in(tmp_path / "s")
    assert {at: point.value for at, point in found.points.items()} == {
        at: pytest.approx(point.value) for at, point in study.points.items()
    }


def test_pilots_failures_and_results_of_other_studies_are_left_out(
    make_study: MakeStudy, keep: Keep, tmp_path: Path
) -> None:
    study = make_study(CNN, VIT, failed=[("vit", 3000)])
    keep(study, tmp_path)
    keep(replace(study, records=study.records[:2]), tmp_path, pilot=True)
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write(json.dumps({"version": 1, "key": "x", "config": {"length": 8}, "seconds": 1.0}) + "\n")
        file.write('{"half')
    (found,) = studies_in(tmp_path)
    assert found.sizes_of("vit") == [100, 300, 1000]
    assert len(found.records) == 21
    assert (tmp_path / "results.jsonl").read_text().endswith('{"half')  # another process may be writing it


def test_a_file_that_holds_something_else_is_named(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text("hello\n")
    with pytest.raises(DataError, match=r"results.jsonl, line 1, is not a result"):
        studies_in(tmp_path)
