"""Training: the one loop of the house, what it reads, what changes its loss, and checkpoints to go on from."""

from zoo.core.lazy_exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
