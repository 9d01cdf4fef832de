"""The attention engine: knows no modality, no model name and no registry.

from zoo.core import attend, Attention, Encoder, Full, Causal: every public name is fetched at first use.
"""

from typing import TYPE_CHECKING

from zoo.core.lazy import exports

if TYPE_CHECKING:
    from zoo.core.attention import Attention, NormedAttention
    from zoo.core.block import PostNormBlock, PreNormBlock
    from zoo.core.dispatch import Plan, attend, plan
    from zoo.core.errors import ConfigError, InputError, ZooError
    from zoo.core.head import Classify, Features, Tag
    from zoo.core.model import Model
    from zoo.core.pattern import Causal, Explicit, Full, Lengths, Valid
    from zoo.core.position import Learned, Sinusoidal
    from zoo.core.tokens import Tokens
    from zoo.core.transformer import Encoder

_FROM = {
    "zoo.core.attention": ("Attention", "NormedAttention"),
    "zoo.core.block": ("PostNormBlock", "PreNormBlock"),
    "zoo.core.dispatch": ("Plan", "attend", "plan"),
    "zoo.core.errors": ("ConfigError", "InputError", "ZooError"),
    "zoo.core.head": ("Classify", "Features", "Tag"),
    "zoo.core.model": ("Model",),
    "zoo.core.pattern": ("Causal", "Explicit", "Full", "Lengths", "Valid"),
    "zoo.core.position": ("Learned", "Sinusoidal"),
    "zoo.core.tokens": ("Tokens",),
    "zoo.core.transformer": ("Encoder",),
}

__all__ = [
    "Attention",
    "Causal",
    "Classify",
    "ConfigError",
    "Encoder",
    "Explicit",
    "Features",
    "Full",
    "InputError",
    "Learned",
    "Lengths",
    "Model",
    "NormedAttention",
    "Plan",
    "PostNormBlock",
    "PreNormBlock",
    "Sinusoidal",
    "Tag",
    "Tokens",
    "Valid",
    "ZooError",
    "attend",
    "plan",
]

__getattr__, __dir__ = exports(__name__, {name: module for module, names in _FROM.items() for name in names})
