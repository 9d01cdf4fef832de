"""Files of weights, on disk and on the Hugging Face Hub: `zoo.weights.save(model, folder)`."""

from zoo.core.lazy_exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
