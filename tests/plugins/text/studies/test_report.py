from typing import Any

import pytest

from zoo.plugins.text.studies.report import report


def record(variant: str, exact: float, one: float) -> dict[str, Any]:
    config = {"data": "dates", "variant": variant}
    return {"config": config, "exact match": exact, "BLEU": 50.0, "one": one, "batch": 1.0, "seconds": 3.0}


def test_means_over_seeds_and_the_ratio_of_times() -> None:
    made = report(
        [record("autoregressive", 0.8, 10.0), record("autoregressive", 0.9, 10.0), record("distilled", 0.7, 2.0)]
    )
    first, second = (dict(zip(made.tables[0].columns, row, strict=True)) for row in made.tables[0].rows)
    assert first["exact match"] == pytest.approx(0.85)
    assert first["±"] == pytest.approx(0.0707, abs=1e-4)
    assert second["±"] is None
    assert made.lines == [
        "dates: distilled writes 70.0% exactly, autoregressive 85.0%, in 0.20 of the time one by one and 1.00 in "
        "batches of 64."
    ]


def test_without_the_autoregressive_model_there_is_only_the_table() -> None:
    made = report([record("distilled", 0.7, 2.0)])
    assert not made.lines
    assert len(made.tables[0].rows) == 1
