"""The command `zoo`: lists, plans, trains and runs models, draws attention, and runs studies and benchmarks."""

from zoo.core.lazy_exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
