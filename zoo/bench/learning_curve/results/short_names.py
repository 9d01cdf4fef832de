"""Names of contestants for tables and figures: the path of a folder in as many of its last parts as tell it apart."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath

from zoo.bench.learning_curve.results.study import Study

_FOLDER = "local-dir:"


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Give each name as it is shown: `local-dir:/home/me/runs/vit` is `local-dir:…/vit`, others are as they are."""
    places = {name: PurePath(name.partition(_FOLDER)[2]) for name in names}
    folders = {place for name, place in places.items() if _FOLDER in name}
    return {name: _short(name, place, folders) if place in folders else name for name, place in places.items()}


def short_name(name: str) -> str:
    """Give a name as it is shown where no other stands beside it."""
    return short_names([name])[name]


def with_short_names(study: Study) -> Study:
    """Give a study whose models and records have short names."""
    shown = short_names(entry.name for entry in study.models)
    if all(name == short for name, short in shown.items()):
        return study
    records = [
        {**record, "config": {**record["config"], "model": shown.get(name, name)}}
        for record in study.records
        for name in [record["config"]["model"]]
    ]
    models = [replace(entry, name=shown[entry.name]) for entry in study.models]
    return replace(study, models=models, records=records)


def _short(name: str, place: PurePath, folders: Iterable[PurePath]) -> str:
    others = [other.parts for other in folders if other != place]
    count = next(
        count
        for count in range(1, len(place.parts) + 1)
        if count == len(place.parts) or all(other[-count:] != place.parts[-count:] for other in others)
    )
    before = name.partition(_FOLDER)[0] + _FOLDER
    if count >= len(place.parts) - 1:  # the root is no part that is worth an ellipsis
        return name
    return f"{before}…/{'/'.join(place.parts[-count:])}"
