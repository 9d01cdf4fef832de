from collections.abc import Callable
from dataclasses import replace

import pytest

from zoo.bench.learning_curve.results.study import Study


@pytest.fixture
def renamed() -> Callable[[Study, str, str], Study]:
    """Give a model of a study another name, in its records too."""

    def rename(study: Study, old: str, new: str) -> Study:
        own = {old: new}
        records = [
            {**each, "config": {**each["config"], "model": own.get(each["config"]["model"], each["config"]["model"])}}
            for each in study.records
        ]
        models = [replace(entry, name=own.get(entry.name, entry.name)) for entry in study.models]
        return replace(study, models=models, records=records)

    return rename
