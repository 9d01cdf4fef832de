"""Plugins, the names they offer, and the code behind a name."""

from zoo.core.lazy_exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
