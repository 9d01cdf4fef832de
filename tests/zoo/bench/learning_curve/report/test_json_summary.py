import json
from collections.abc import Callable

import pytest

from zoo.bench.learning_curve.report.json_summary import finite, summary
from zoo.bench.learning_curve.results.study import Study


def test_the_summary_is_json_without_infinities(make_study: Callable[..., Study]) -> None:
    study = make_study([0.5] * 4, [0.3, 0.3, 0.3, 0.505])
    found = json.loads(json.dumps(summary(study), allow_nan=False))
    assert found["contestants"]["vit"]["accuracy"]["100"]["value"] == pytest.approx(0.3, abs=0.05)
    assert found["crossover"]["size"]["high"] is None


def test_numbers_that_json_has_not_are_none_however_deep() -> None:
    assert finite({"a": [1.5, (float("nan"), "x")], "b": float("inf")}) == {"a": [1.5, [None, "x"]], "b": None}
