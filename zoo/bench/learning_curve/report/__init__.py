"""The report of a study: its files, among them a figure and an interactive page that asks for nothing else."""

from zoo.core.lazy_exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
