"""Tasks on sequences of tokens, drawn by rules without end: recall, copying, induction, ListOps, pictures."""

from zoo.core.lazy_exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
