"""Benchmarks: studies (`zoo.bench.data_size(models=[...], data=...)`, or any by `run_grid`), and cases against peers.

Nothing heavy is imported here: each name below is fetched at first use.
"""

from typing import TYPE_CHECKING

from zoo.core.lazy_exports import exports

if TYPE_CHECKING:
    from zoo.bench.grid.engine import Grid, resumable, run_grid
    from zoo.bench.grid.results_store import Store
    from zoo.bench.grid.worker_pool import WorkerPool
    from zoo.bench.learning_curve.command import data_size
    from zoo.bench.learning_curve.results import Study
    from zoo.bench.speed.case import Case

__all__ = ["Case", "Grid", "Store", "Study", "WorkerPool", "data_size", "resumable", "run_grid"]

__getattr__, __dir__ = exports(
    __name__,
    {
        "data_size": "zoo.bench.learning_curve.command",
        "Study": "zoo.bench.learning_curve.command",
        "Case": "zoo.bench.speed.case",
        "Store": "zoo.bench.grid.results_store",
        "WorkerPool": "zoo.bench.grid.worker_pool",
        **dict.fromkeys(("Grid", "resumable", "run_grid"), "zoo.bench.grid.engine"),
    },
)
