"""The attention engine: knows no modality, no model name and no registry.

from zoo.core import attend, Attention, Encoder, Full, Causal: every public name is fetched at first use.
"""

from typing import TYPE_CHECKING

from zoo.core.lazy_exports import exports

if TYPE_CHECKING:
    from zoo.core import flops
    from zoo.core.cache.decoder import DecoderState
    from zoo.core.cache.growing import Growing
    from zoo.core.cache.linear_state import Sums
    from zoo.core.cache.ring import Ring
    from zoo.core.cache.static import Static
    from zoo.core.engine.by_edge import edge_weights
    from zoo.core.engine.dispatch import attend
    from zoo.core.engine.maps import weight_blocks
    from zoo.core.engine.planner import Plan, plan
    from zoo.core.errors import ConfigError, InputError, ZooError
    from zoo.core.generation.length_prediction import CutAtEnd, LengthPredictor
    from zoo.core.generation.loop import Generated
    from zoo.core.layers.attention import Attention
    from zoo.core.layers.blocks import PostNormBlock, PreNormBlock
    from zoo.core.layers.heads import Classify, Features, NextToken, Tag
    from zoo.core.layers.qk_norm import NormedAttention
    from zoo.core.layers.token_embedding import TokenEmbed
    from zoo.core.layers.transformer import Decoder, Encoder, EncoderDecoder
    from zoo.core.mechanisms.branched import BranchedAttention
    from zoo.core.mechanisms.convolution import QuadraticAttention, as_attention
    from zoo.core.models.ctc import Ctc
    from zoo.core.models.ctc_attention import Joint
    from zoo.core.models.generator import Generator
    from zoo.core.models.model import Model
    from zoo.core.models.non_autoregressive import NonAutoregressive
    from zoo.core.patterns.basic import Causal, Explicit
    from zoo.core.patterns.edge_types import EdgeKinds
    from zoo.core.patterns.edges import Edges
    from zoo.core.patterns.local import Chunk, Neighbourhood, Window
    from zoo.core.patterns.padding import Lengths, Segments, Valid
    from zoo.core.patterns.pattern import Full
    from zoo.core.patterns.sparse import Blocks, Fixed, Globals, Strided, big_bird
    from zoo.core.positions.absolute import Learned, Sinusoidal
    from zoo.core.positions.floater import Floater
    from zoo.core.positions.relative import ALiBiPosition, ShawPosition, TablePosition, TransformerXLPosition
    from zoo.core.positions.rotary import Rotary
    from zoo.core.scoring.edge_bias import EdgeBias
    from zoo.core.scoring.normalizers import Hard, Kernel
    from zoo.core.scoring.relative_bias import ALiBi, RelativeTable, Shaw, TransformerXL
    from zoo.core.scoring.scores import Additive, General, LeakySum
    from zoo.core.special_tokens import Symbols
    from zoo.core.tokens import Tokens, left_padded

_FROM = {
    "zoo.core": ("flops",),
    "zoo.core.positions.absolute": ("Learned", "Sinusoidal"),
    "zoo.core.layers.attention": ("Attention",),
    "zoo.core.patterns.basic": ("Causal", "Explicit"),
    "zoo.core.layers.blocks": ("PostNormBlock", "PreNormBlock"),
    "zoo.core.engine.by_edge": ("edge_weights",),
    "zoo.core.mechanisms.convolution": ("QuadraticAttention", "as_attention"),
    "zoo.core.generation.loop": ("Generated",),
    "zoo.core.cache.decoder": ("DecoderState",),
    "zoo.core.engine.dispatch": ("attend",),
    "zoo.core.scoring.edge_bias": ("EdgeBias",),
    "zoo.core.patterns.edge_types": ("EdgeKinds",),
    "zoo.core.patterns.edges": ("Edges",),
    "zoo.core.layers.token_embedding": ("TokenEmbed",),
    "zoo.core.errors": ("ConfigError", "InputError", "ZooError"),
    "zoo.core.positions.floater": ("Floater",),
    "zoo.core.models.generator": ("Generator",),
    "zoo.core.cache.growing": ("Growing",),
    "zoo.core.layers.heads": ("Classify", "Features", "NextToken", "Tag"),
    "zoo.core.models.ctc_attention": ("Joint",),
    "zoo.core.patterns.padding": ("Lengths", "Segments", "Valid"),
    "zoo.core.generation.length_prediction": ("CutAtEnd", "LengthPredictor"),
    "zoo.core.patterns.local": ("Chunk", "Neighbourhood", "Window"),
    "zoo.core.engine.maps": ("weight_blocks",),
    "zoo.core.models.model": ("Model",),
    "zoo.core.models.non_autoregressive": ("NonAutoregressive",),
    "zoo.core.scoring.normalizers": ("Hard", "Kernel"),
    "zoo.core.patterns.pattern": ("Full",),
    "zoo.core.engine.planner": ("Plan", "plan"),
    "zoo.core.layers.qk_norm": ("NormedAttention",),
    "zoo.core.models.ctc": ("Ctc",),
    "zoo.core.positions.relative": ("ALiBiPosition", "ShawPosition", "TablePosition", "TransformerXLPosition"),
    "zoo.core.scoring.relative_bias": ("ALiBi", "RelativeTable", "Shaw", "TransformerXL"),
    "zoo.core.cache.ring": ("Ring",),
    "zoo.core.positions.rotary": ("Rotary",),
    "zoo.core.scoring.scores": ("Additive", "General", "LeakySum"),
    "zoo.core.patterns.sparse": ("Blocks", "Fixed", "Globals", "Strided", "big_bird"),
    "zoo.core.cache.static": ("Static",),
    "zoo.core.cache.linear_state": ("Sums",),
    "zoo.core.special_tokens": ("Symbols",),
    "zoo.core.tokens": ("Tokens", "left_padded"),
    "zoo.core.layers.transformer": ("Decoder", "Encoder", "EncoderDecoder"),
    "zoo.core.mechanisms.branched": ("BranchedAttention",),
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
