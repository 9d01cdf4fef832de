"""A model over HTTP: `zoo serve MODEL` answers what `zoo predict` and `zoo generate` answer, request by request."""

from zoo.core.lazy_exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
