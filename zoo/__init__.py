"""A model zoo of many modalities on one attention engine.

    import zoo
    model = zoo.create("vit-small")
    logits = model(*zoo.example("vit-small"))

Nothing heavy is imported here: each public name, and each public package, is imported at first use.
"""

from zoo.core.lazy_exports import attach
from zoo.version import __version__ as __version__

__getattr__, __dir__, __all__ = attach(__name__, __file__)
