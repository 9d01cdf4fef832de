"""Benchmarks: studies (`zoo.bench.data_size(models=[...], data=...)`) and cases against peer libraries.

Nothing heavy is imported here: each name below is fetched at first use.
"""

from typing import TYPE_CHECKING

from zoo.core.lazy_exports import exports

if TYPE_CHECKING:
    from zoo.bench.learning_curve.command import data_size
    from zoo.bench.learning_curve.results import Study
    from zoo.bench.speed.case import Case

__all__ = ["Case", "Study", "data_size"]

__getattr__, __dir__ = exports(
    __name__,
    {
        "data_size": "zoo.bench.learning_curve.command",
        "Study": "zoo.bench.learning_curve.command",
        "Case": "zoo.bench.speed.case",
    },
)
