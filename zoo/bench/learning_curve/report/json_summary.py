"""All that was found in a study, as JSON values: `summary.json`."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from zoo.bench.learning_curve.report.table import conclusion, missing
from zoo.bench.learning_curve.results.compute import axes_of, best_at
from zoo.bench.learning_curve.results.study import Study


def summary(study: Study, decided: Sequence[str] = ()) -> dict[str, Any]:
    """Give all that was found as JSON values; what is infinite is null."""
    pair, crossover = study.pair(), study.crossover()
    found = {
        **({"decision": list(decided)} if decided else {}),
        "found": conclusion(study),
        "data": asdict(study.data),
        "seeds": study.seeds,
        "steps": {str(size): steps for size, steps in study.steps.items()},
        "contestants": {c.name: {**asdict(c), **_results(study, c.name)} for c in study.models},
        "crossover": crossover and {"first": pair and pair[0], "second": pair and pair[1], **asdict(crossover)},
        "compute": {axis: [asdict(best) for best in best_at(study, axis)] for axis in axes_of(study)},
        "missing": missing(study),
    }
    return finite(found)


def finite(value: Any) -> Any:
    """Replace numbers that JSON has not, infinities and NaN, by None, inside lists and dictionaries too."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _results(study: Study, name: str) -> dict[str, Any]:
    law = study.fit(name)
    points = {str(size): asdict(study.points[name, size]) for size in study.sizes_of(name)}
    classes = {str(size): asdict(each) for (own, size), each in study.class_scores.items() if own == name}
    return {"accuracy": points, "classes": classes, "fit": law and asdict(law)}
