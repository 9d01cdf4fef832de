"""Sound: log-mel features, subsampling, streaming, and speech recognition."""

from zoo.core import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
