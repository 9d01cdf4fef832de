"""Benchmarks: studies on the user's data, also from Python: `zoo.bench.data_size(models=[...], data=...)`.

Nothing heavy is imported here: each name below is fetched at first use.
"""

from typing import TYPE_CHECKING

from zoo.core.lazy_exports import exports

if TYPE_CHECKING:
    from zoo.bench.learning_curve.command import data_size
    from zoo.bench.learning_curve.results import Study

__all__ = ["Study", "data_size"]

__getattr__, __dir__ = exports(
    __name__, {"data_size": "zoo.bench.learning_curve.command", "Study": "zoo.bench.learning_curve.command"}
)
