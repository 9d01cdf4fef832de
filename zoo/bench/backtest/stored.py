"""Learning curves on disk: the studies that lie in a folder, read from their results alone, without their data."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.bench.grid.engine import Record
from zoo.bench.grid.results_store import stored_in
from zoo.bench.grid.shard import shards_in
from zoo.bench.learning_curve.contestants.contestant import Contestant
from zoo.bench.learning_curve.results.entries import Data, ModelEntry, with_costs
from zoo.bench.learning_curve.results.short_names import with_short_names
from zoo.bench.learning_curve.results.study import Study
from zoo.data.labelling.labelling import Labelling
from zoo.errors import ZooError
from zoo.spec import Kind

RESULTS = "results.jsonl"
_VARIED = ("size", "seed", "steps", "ties")
"""What differs between the runs of one model in one study."""


def study_folders(folder: Path) -> list[Path]:
    """List the folders with results at or below one; those of shards belong to their study's."""
    found = {path.parent for path in folder.rglob(RESULTS)}
    return sorted({each.parent if each in _shards(each.parent) else each for each in found})


def studies_in(folder: Path) -> list[Study]:
    """Give the learning curves whose results lie in a folder, a study for each data and labelling; others are left out.

    Of several recipes of a model, as rates before and after a sweep, that with the most runs is taken.

    Raises:
        DataError: If a file of results cannot be read.
    """
    records = [each for path in (folder, *_shards(folder)) for each in stored_in(path / RESULTS) if _is_run(each)]
    by_data: dict[str, list[Record]] = {}
    for record in records:
        by_data.setdefault(_data_of(record["config"]), []).append(record)
    return [_study(folder, name, runs, alone=len(by_data) == 1) for name, runs in by_data.items()]


def _data_of(config: Mapping[str, Any]) -> str:
    """Name the data of a run, with what was done to their labels."""
    labelling = Labelling.of(config.get("class_ratio", ""), config.get("label_noise", 0.0))
    return ", ".join(filter(None, (config["data"], labelling.text)))


def _shards(folder: Path) -> list[Path]:
    return [shard.folder(folder) for shard in shards_in(folder)]


def _is_run(record: Record) -> bool:
    config, scored = record["config"], "accuracy" in record or "score" in record
    return scored and {"model", "data", "size", "seed", "steps"} <= config.keys() and not config.get("pilot")


def _study(folder: Path, data: str, records: Sequence[Record], alone: bool) -> Study:
    models = list(dict.fromkeys(record["config"]["model"] for record in records))
    runs = [run for model in models for run in _of_one_recipe(each for each in records if _model(each) == model)]
    counts = Counter((run["config"]["size"], run["config"]["steps"]) for run in runs)
    steps = {size: most for (size, most), _ in sorted(counts.items(), key=lambda item: item[1])}
    runs = [run for run in runs if run["config"]["steps"] == steps[run["config"]["size"]]]
    study = Study(
        models=[_entry(model, runs) for model in models],
        data=(_told(folder) if alone else None) or _data(data, runs[0]),
        steps=dict(sorted(steps.items())),
        seeds=max(Counter((_model(run), run["config"]["size"]) for run in runs).values()),
        records=runs,
        folder=folder,
    )
    return with_short_names(study)


def _model(record: Record) -> str:
    return record["config"]["model"]


def _of_one_recipe(records: Iterable[Record]) -> list[Record]:
    """Give the runs of the recipe that most have, each once."""
    recipes: dict[str, dict[tuple[int, int, int], Record]] = {}
    for record in records:
        config = record["config"]
        recipe = json.dumps({name: value for name, value in config.items() if name not in _VARIED}, sort_keys=True)
        recipes.setdefault(recipe, {})[config["size"], config["steps"], config["seed"]] = record
    return list(max(recipes.values(), key=len).values())


def _entry(model: str, runs: Sequence[Record]) -> ModelEntry:
    config = next(run["config"] for run in runs if _model(run) == model)
    try:
        kind: Kind = Contestant.of(model).spec.kind
    except ZooError:  # of a plugin that is not installed here, or of weights that are gone
        kind = "hybrid"
    about = {name: config[name] for name in ("optimizer", "learning_rate") if name in config}
    return with_costs(ModelEntry(name=model, kind=kind, **{"learning_rate": 0.0, **about}), runs)


def _told(folder: Path) -> Data | None:
    """Read what the report of the study says of its data; None where there is no report."""
    try:
        told: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["data"]
        about = {name: told[name] for name in ("name", "description", "num_classes", "metric", "best", "chance")}
        return Data(**about)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _data(name: str, run: Record) -> Data:
    """Give what a run alone tells: of losses the best value is 0, of all else 1."""
    metric = "accuracy" if "accuracy" in run else run.get("metric", "score")
    best = 0.0 if metric.startswith("-") else 1.0
    return Data(name=name, description="", num_classes=0, metric=metric, best=best)
