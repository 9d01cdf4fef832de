"""The attention engine: knows no modality, no model name and no registry.

from zoo.core import attend, Attention, Encoder, Full, Causal: every public name is fetched at first use.
"""

from typing import TYPE_CHECKING

from zoo.core.lazy import exports

if TYPE_CHECKING:
    from zoo.core import flops
    from zoo.core.absolute import Learned, Sinusoidal
    from zoo.core.attention import Attention
    from zoo.core.basic import Causal, Explicit
    from zoo.core.block import PostNormBlock, PreNormBlock
    from zoo.core.by_edge import edge_weights
    from zoo.core.conv import QuadraticAttention, as_attention
    from zoo.core.decode import Generated
    from zoo.core.decoder import DecoderState
    from zoo.core.dispatch import attend
    from zoo.core.edge_bias import EdgeBias
    from zoo.core.edge_kinds import EdgeKinds
    from zoo.core.edges import Edges
    from zoo.core.embed import TokenEmbed
    from zoo.core.errors import ConfigError, InputError, ZooError
    from zoo.core.floater import Floater
    from zoo.core.generator import Generator
    from zoo.core.growing import Growing
    from zoo.core.head import Classify, Features, NextToken, Tag
    from zoo.core.joint import Joint
    from zoo.core.keys import Lengths, Segments, Valid
    from zoo.core.length import CutAtEnd, LengthPredictor
    from zoo.core.local import Chunk, Neighbourhood, Window
    from zoo.core.maps import weight_blocks
    from zoo.core.model import Model
    from zoo.core.nonautoregressive import NonAutoregressive
    from zoo.core.norm import Hard, Kernel
    from zoo.core.pattern import Full
    from zoo.core.planner import Plan, plan
    from zoo.core.qk_norm import NormedAttention
    from zoo.core.recogniser import Ctc
    from zoo.core.relative import ALiBiPosition, ShawPosition, TablePosition, TransformerXLPosition
    from zoo.core.relative_bias import ALiBi, RelativeTable, Shaw, TransformerXL
    from zoo.core.ring import Ring
    from zoo.core.rotary import Rotary
    from zoo.core.score import Additive, General, LeakySum
    from zoo.core.sparse import Blocks, Fixed, Globals, Strided, big_bird
    from zoo.core.static import Static
    from zoo.core.sums import Sums
    from zoo.core.symbols import Symbols
    from zoo.core.tokens import Tokens, left_padded
    from zoo.core.transformer import Decoder, Encoder, EncoderDecoder
    from zoo.core.weighted import BranchedAttention

_FROM = {
    "zoo.core": ("flops",),
    "zoo.core.absolute": ("Learned", "Sinusoidal"),
    "zoo.core.attention": ("Attention",),
    "zoo.core.basic": ("Causal", "Explicit"),
    "zoo.core.block": ("PostNormBlock", "PreNormBlock"),
    "zoo.core.by_edge": ("edge_weights",),
    "zoo.core.conv": ("QuadraticAttention", "as_attention"),
    "zoo.core.decode": ("Generated",),
    "zoo.core.decoder": ("DecoderState",),
    "zoo.core.dispatch": ("attend",),
    "zoo.core.edge_bias": ("EdgeBias",),
    "zoo.core.edge_kinds": ("EdgeKinds",),
    "zoo.core.edges": ("Edges",),
    "zoo.core.embed": ("TokenEmbed",),
    "zoo.core.errors": ("ConfigError", "InputError", "ZooError"),
    "zoo.core.floater": ("Floater",),
    "zoo.core.generator": ("Generator",),
    "zoo.core.growing": ("Growing",),
    "zoo.core.head": ("Classify", "Features", "NextToken", "Tag"),
    "zoo.core.joint": ("Joint",),
    "zoo.core.keys": ("Lengths", "Segments", "Valid"),
    "zoo.core.length": ("CutAtEnd", "LengthPredictor"),
    "zoo.core.local": ("Chunk", "Neighbourhood", "Window"),
    "zoo.core.maps": ("weight_blocks",),
    "zoo.core.model": ("Model",),
    "zoo.core.nonautoregressive": ("NonAutoregressive",),
    "zoo.core.norm": ("Hard", "Kernel"),
    "zoo.core.pattern": ("Full",),
    "zoo.core.planner": ("Plan", "plan"),
    "zoo.core.qk_norm": ("NormedAttention",),
    "zoo.core.recogniser": ("Ctc",),
    "zoo.core.relative": ("ALiBiPosition", "ShawPosition", "TablePosition", "TransformerXLPosition"),
    "zoo.core.relative_bias": ("ALiBi", "RelativeTable", "Shaw", "TransformerXL"),
    "zoo.core.ring": ("Ring",),
    "zoo.core.rotary": ("Rotary",),
    "zoo.core.score": ("Additive", "General", "LeakySum"),
    "zoo.core.sparse": ("Blocks", "Fixed", "Globals", "Strided", "big_bird"),
    "zoo.core.static": ("Static",),
    "zoo.core.sums": ("Sums",),
    "zoo.core.symbols": ("Symbols",),
    "zoo.core.tokens": ("Tokens", "left_padded"),
    "zoo.core.transformer": ("Decoder", "Encoder", "EncoderDecoder"),
    "zoo.core.weighted": ("BranchedAttention",),
}

__all__ = [
    "ALiBi",
    "ALiBiPosition",
    "Additive",
    "Attention",
    "Blocks",
    "BranchedAttention",
    "Causal",
    "Chunk",
    "Classify",
    "ConfigError",
    "Ctc",
    "CutAtEnd",
    "Decoder",
    "DecoderState",
    "EdgeBias",
    "EdgeKinds",
    "Edges",
    "Encoder",
    "EncoderDecoder",
    "Explicit",
    "Features",
    "Fixed",
    "Floater",
    "Full",
    "General",
    "Generated",
    "Generator",
    "Globals",
    "Growing",
    "Hard",
    "InputError",
    "Joint",
    "Kernel",
    "LeakySum",
    "Learned",
    "LengthPredictor",
    "Lengths",
    "Model",
    "Neighbourhood",
    "NextToken",
    "NonAutoregressive",
    "NormedAttention",
    "Plan",
    "PostNormBlock",
    "PreNormBlock",
    "QuadraticAttention",
    "RelativeTable",
    "Ring",
    "Rotary",
    "Segments",
    "Shaw",
    "ShawPosition",
    "Sinusoidal",
    "Static",
    "Strided",
    "Sums",
    "Symbols",
    "TablePosition",
    "Tag",
    "TokenEmbed",
    "Tokens",
    "TransformerXL",
    "TransformerXLPosition",
    "Valid",
    "Window",
    "ZooError",
    "as_attention",
    "attend",
    "big_bird",
    "edge_weights",
    "flops",
    "left_padded",
    "plan",
    "weight_blocks",
]

__getattr__, __dir__ = exports(__name__, {name: module for module, names in _FROM.items() for name in names})
