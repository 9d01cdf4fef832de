"""Graphs: nodes are the vectors, and a node attends to the sources of the edges that end at it."""

from zoo.core import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
