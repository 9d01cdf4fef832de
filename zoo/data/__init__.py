"""Data for trainings and studies: what a source gives, splits, labels, caches and reports of skipped examples."""

from zoo.core.lazy_exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
