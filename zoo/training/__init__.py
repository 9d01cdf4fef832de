"""Training: the loop, its sampler, objectives, optimizers and checkpoints."""

from zoo.core.lazy_exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
