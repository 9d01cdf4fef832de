"""Files of weights, on disk and on the Hugging Face Hub: `zoo.weights.save(model, folder)`."""

from typing import TYPE_CHECKING

from zoo.core.lazy_exports import exports

if TYPE_CHECKING:
    from zoo.weights.checkpoint import save

__all__ = ["save"]

__getattr__, __dir__ = exports(__name__, {"save": "zoo.weights.checkpoint"})
