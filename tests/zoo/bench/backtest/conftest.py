from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zoo.bench.grid.results_store import Store, key_of
from zoo.bench.learning_curve.results.study import Study


@pytest.fixture
def keep() -> Callable[..., Path]:
    """Store the records of a study in a folder as the engine does, on some data."""

    def keep(study: Study, folder: Path, data: str = "toy", **settings: Any) -> Path:
        store = Store(folder)
        for record in study.records:
            config = {**record["config"], "data": data, "optimizer": "adamw", "learning_rate": 0.1, **settings}
            store.add(key_of(config), config, {name: value for name, value in record.items() if name != "config"})
        return folder

    return keep
