"""Benchmarks: studies (`zoo.bench.data_size(models=[...], data=...)`, or any by `run_grid`), and cases against peers.

Nothing heavy is imported here: each public name is imported at first use.
"""

from zoo.core.lazy_exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
