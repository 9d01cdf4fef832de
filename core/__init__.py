"""The attention engine: knows no modality, no model name and no registry.

from zoo.core import attend, Attention, Encoder, Full, Causal: each public name is imported at first use. The list is
`__init__.pyi`; docs/engine.md shows it by folder.
"""

from zoo.core.lazy_exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
