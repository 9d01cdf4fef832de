"""The attention engine: knows no modality, no model name and no registry.

from zoo.core import attend, Attention, Encoder, Full, Causal: every public name is fetched at first use.
"""

from typing import TYPE_CHECKING

from zoo.core.lazy import exports

if TYPE_CHECKING:
    from zoo.core.attention import Attention, NormedAttention
    from zoo.core.bias import ALiBi, RelativeTable, Shaw, TransformerXL
    from zoo.core.block import PostNormBlock, PreNormBlock
    from zoo.core.dispatch import Plan, attend, plan
    from zoo.core.edges import Edges
    from zoo.core.errors import ConfigError, InputError, ZooError
    from zoo.core.head import Classify, Features, Tag
    from zoo.core.keys import Lengths, Segments, Valid
    from zoo.core.local import Chunk, Neighbourhood, Window
    from zoo.core.model import Model
    from zoo.core.norm import Hard, Kernel
    from zoo.core.pattern import Causal, Explicit, Full
    from zoo.core.position import Learned, Sinusoidal
    from zoo.core.score import Additive, General
    from zoo.core.sparse import Blocks, Fixed, Globals, Strided, big_bird
    from zoo.core.tokens import Tokens
    from zoo.core.transformer import Encoder

_FROM = {
    "zoo.core.attention": ("Attention", "NormedAttention"),
    "zoo.core.block": ("PostNormBlock", "PreNormBlock"),
    "zoo.core.dispatch": ("Plan", "attend", "plan"),
    "zoo.core.errors": ("ConfigError", "InputError", "ZooError"),
    "zoo.core.head": ("Classify", "Features", "Tag"),
    "zoo.core.model": ("Model",),
    "zoo.core.bias": ("ALiBi", "RelativeTable", "Shaw", "TransformerXL"),
    "zoo.core.edges": ("Edges",),
    "zoo.core.keys": ("Lengths", "Segments", "Valid"),
    "zoo.core.local": ("Chunk", "Neighbourhood", "Window"),
    "zoo.core.norm": ("Hard", "Kernel"),
    "zoo.core.pattern": ("Causal", "Explicit", "Full"),
    "zoo.core.score": ("Additive", "General"),
    "zoo.core.sparse": ("Blocks", "Fixed", "Globals", "Strided", "big_bird"),
    "zoo.core.position": ("Learned", "Sinusoidal"),
    "zoo.core.tokens": ("Tokens",),
    "zoo.core.transformer": ("Encoder",),
}

__all__ = [
    "ALiBi",
    "Additive",
    "Attention",
    "Blocks",
    "Causal",
    "Chunk",
    "Classify",
    "ConfigError",
    "Edges",
    "Encoder",
    "Explicit",
    "Features",
    "Fixed",
    "Full",
    "General",
    "Globals",
    "Hard",
    "InputError",
    "Kernel",
    "Learned",
    "Lengths",
    "Model",
    "Neighbourhood",
    "NormedAttention",
    "Plan",
    "PostNormBlock",
    "PreNormBlock",
    "RelativeTable",
    "Segments",
    "Shaw",
    "Sinusoidal",
    "Strided",
    "Tag",
    "Tokens",
    "TransformerXL",
    "Valid",
    "Window",
    "ZooError",
    "attend",
    "big_bird",
    "plan",
]

__getattr__, __dir__ = exports(__name__, {name: module for module, names in _FROM.items() for name in names})
