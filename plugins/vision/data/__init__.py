"""Images to train on: sources, the index of a folder, the cache of decoded images, augmentation."""

from zoo.core import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
