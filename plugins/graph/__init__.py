"""Graph models: nodes are the tokens, and a node attends to the sources of its incoming edges."""

from zoo.core import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
