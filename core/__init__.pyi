"""Public names of the engine: the only list, which `zoo.core.lazy_exports.attach` reads at run time."""

from zoo.core import flops as flops
from zoo.core.backends.costs import Cost as Cost
from zoo.core.backends.problem import Backend as Backend, Call as Call, Problem as Problem
from zoo.core.cache.decoder import DecoderState as DecoderState
from zoo.core.cache.growing import Growing as Growing
from zoo.core.cache.linear_state import (
    LinearAttentionState as LinearAttentionState,
    Sums as Sums,
)
from zoo.core.cache.ring import Ring as Ring
from zoo.core.cache.state import State as State
from zoo.core.cache.static import Static as Static
from zoo.core.deprecation import deprecated as deprecated
from zoo.core.engine.added_backends import add_backend as add_backend
from zoo.core.engine.edge_weights import edge_weights as edge_weights
from zoo.core.engine.dispatch import attend as attend
from zoo.core.engine.weight_blocks import weight_blocks as weight_blocks
from zoo.core.engine.planner import Plan as Plan, plan as plan
from zoo.core.errors import ConfigError as ConfigError, InputError as InputError, ZooError as ZooError
from zoo.core.generation.constraints.no_repeat_ngram import NoRepeatNgram as NoRepeatNgram
from zoo.core.generation.constraints.processor import Processor as Processor
from zoo.core.generation.constraints.repetition_penalty import RepetitionPenalty as RepetitionPenalty
from zoo.core.generation.constraints.stop_strings import StopStrings as StopStrings
from zoo.core.generation.constraints.suppress import Suppress as Suppress
from zoo.core.generation.ctc_streaming import Transcript as Transcript
from zoo.core.generation.keywords import check_input_keywords as check_input_keywords
from zoo.core.generation.length_prediction import (
    CutAtEnd as CutAtEnd,
    Length as Length,
    LengthPredictor as LengthPredictor,
)
from zoo.core.generation.loop import Generated as Generated
from zoo.core.generation.stepping import evaluating as evaluating
from zoo.core.generation.target_scores import TargetScores as TargetScores
from zoo.core.layers.attention import Attention as Attention
from zoo.core.layers.blocks import (
    Block as Block,
    DropPath as DropPath,
    PostNormBlock as PostNormBlock,
    PreNormBlock as PreNormBlock,
)
from zoo.core.layers.heads import (
    Classifier as Classifier,
    POOLED as POOLED,
    Classify as Classify,
    Features as Features,
    MaskedToken as MaskedToken,
    NextToken as NextToken,
    PooledClassify as PooledClassify,
    Tag as Tag,
    head as head,
)
from zoo.core.layers.init import init_weights as init_weights
from zoo.core.layers.mlp import (
    ACTIVATIONS as ACTIVATIONS,
    Mlp as Mlp,
    mlp_with as mlp_with,
)
from zoo.core.layers.packing import keeps_sets_apart as keeps_sets_apart
from zoo.core.layers.position_factory import with_position as with_position
from zoo.core.layers.protocol import AttentionLayer as AttentionLayer
from zoo.core.layers.qk_norm import NormedAttention as NormedAttention
from zoo.core.layers.token_embedding import (
    ValidMask as ValidMask,
    TokenEmbed as TokenEmbed,
    as_keys as as_keys,
    check_ids as check_ids,
)
from zoo.core.layers.transformer import (
    Decoder as Decoder,
    Encoder as Encoder,
    EncoderDecoder as EncoderDecoder,
    Stack as Stack,
    drop_rates as drop_rates,
)
from zoo.core.lazy_exports import attach as attach
from zoo.core.losses.ctc import check_ctc_lengths as check_ctc_lengths
from zoo.core.losses.loss import (
    IGNORED as IGNORED,
    TARGETS as TARGETS,
    binary_cross_entropy as binary_cross_entropy,
    count_targets as count_targets,
    cross_entropy as cross_entropy,
)
from zoo.core.losses.reinforce import leave_one_out as leave_one_out, reinforce as reinforce
from zoo.core.mechanisms.alignment.alignment import Alignment as Alignment
from zoo.core.mechanisms.alignment.attentive import (
    AttentiveDecoder as AttentiveDecoder,
    ContextGate as ContextGate,
    InputFeedingDecoder as InputFeedingDecoder,
    PresentStateDecoder as PresentStateDecoder,
    PreviousStateDecoder as PreviousStateDecoder,
)
from zoo.core.mechanisms.alignment.cell import CELLS as CELLS, open_forget_gates as open_forget_gates
from zoo.core.mechanisms.alignment.copying import CopyHead as CopyHead
from zoo.core.mechanisms.alignment.decoder import RecurrentDecoder as RecurrentDecoder
from zoo.core.mechanisms.alignment.hard import (
    HardAlignment as HardAlignment,
    record_alignments as record_alignments,
)
from zoo.core.mechanisms.alignment.pointer import PointerNetwork as PointerNetwork
from zoo.core.mechanisms.alignment.recurrent_layers import RecurrentLayers as RecurrentLayers
from zoo.core.mechanisms.alignment.scores import (
    AlignmentScore as AlignmentScore,
    BilinearScore as BilinearScore,
    ConcatScore as ConcatScore,
    DotScore as DotScore,
    LocationScore as LocationScore,
)
from zoo.core.mechanisms.alignment.windows import (
    AlignmentWindow as AlignmentWindow,
    Monotonic as Monotonic,
    Predictive as Predictive,
)
from zoo.core.mechanisms.branched import (
    BranchedAttention as BranchedAttention,
    BranchedBlock as BranchedBlock,
    branched as branched,
    no_mlp as no_mlp,
)
from zoo.core.mechanisms.convolution import (
    QuadraticAttention as QuadraticAttention,
    as_attention as as_attention,
    quadratic as quadratic,
)
from zoo.core.mechanisms.gated_cross import (
    GatedAttention as GatedAttention,
    insert_cross as insert_cross,
    open_gates as open_gates,
)
from zoo.core.mechanisms.hard_attention import (
    HardAttention as HardAttention,
    record_choices as record_choices,
)
from zoo.core.mechanisms.linear_attention import linear_attention as linear_attention
from zoo.core.mechanisms.recurrence.layer import RecurrentAttention as RecurrentAttention
from zoo.core.models.configured import configured as configured
from zoo.core.models.copying import CopyingGenerator as CopyingGenerator
from zoo.core.models.ctc import Ctc as Ctc
from zoo.core.models.ctc_attention import Joint as Joint
from zoo.core.models.encoder_decoder import (
    EncoderDecoderConfig as EncoderDecoderConfig,
    MakeAttention as MakeAttention,
    encoder_decoder_parts as encoder_decoder_parts,
    of_vocabulary as of_vocabulary,
)
from zoo.core.models.explorable import Explorable as Explorable
from zoo.core.models.generator import Generator as Generator
from zoo.core.models.inspection import check_fit as check_fit, cross_attention_maps as cross_attention_maps
from zoo.core.models.model import (
    Composition as Composition,
    Model as Model,
    SourceTarget as SourceTarget,
    has_own_loss as has_own_loss,
    resolve_indices as resolve_indices,
)
from zoo.core.models.non_autoregressive import NonAutoregressive as NonAutoregressive
from zoo.core.models.quantization import is_quantized as is_quantized, quantize as quantize
from zoo.core.models.source import Bridge as Bridge, Source as Source, bridge_of as bridge_of
from zoo.core.ops.activations import gelu as gelu, relu as relu, silu as silu
from zoo.core.ops.autocast import precise as precise
from zoo.core.ops.first_order import transforms_active as transforms_active
from zoo.core.ops.int8.int8_matrix import Int8Matrix as Int8Matrix
from zoo.core.ops.linear import Linear as Linear
from zoo.core.ops.products import multiply as multiply
from zoo.core.ops.tensor_check import check_tensor as check_tensor, values_known as values_known
from zoo.core.ops.recurrence.forms import chunked as chunked, parallel as parallel, recurrent as recurrent
from zoo.core.ops.recurrence.steps import Steps as Steps
from zoo.core.patterns.basic import Causal as Causal, Explicit as Explicit
from zoo.core.patterns.canonical import canonical as canonical
from zoo.core.patterns.edge_types import EdgeKinds as EdgeKinds
from zoo.core.patterns.edge_index import Duplicates as Duplicates
from zoo.core.patterns.edges import Edges as Edges
from zoo.core.patterns.front import front_order as front_order, front_places as front_places, vectors_at as vectors_at
from zoo.core.patterns.local import Chunk as Chunk, Neighbourhood as Neighbourhood, Window as Window
from zoo.core.patterns.padding import Keys as Keys, Lengths as Lengths, Segments as Segments, Valid as Valid
from zoo.core.patterns.pattern import (
    And as And,
    BoundingBand as BoundingBand,
    Full as Full,
    Or as Or,
    Pattern as Pattern,
)
from zoo.core.patterns.sparse import (
    Blocks as Blocks,
    Fixed as Fixed,
    Globals as Globals,
    Strided as Strided,
    big_bird as big_bird,
    lra_local as lra_local,
)
from zoo.core.positions.absolute import (
    Learned as Learned,
    Sinusoidal as Sinusoidal,
    position_encoding as position_encoding,
)
from zoo.core.positions.attention_position import (
    AttentionPosition as AttentionPosition,
    HeadSizes as HeadSizes,
)
from zoo.core.positions.floater import Floater as Floater
from zoo.core.positions.relative import (
    ALiBiPosition as ALiBiPosition,
    ShawPosition as ShawPosition,
    TablePosition as TablePosition,
    TransformerXLPosition as TransformerXLPosition,
)
from zoo.core.positions.rotary import Rotary as Rotary
from zoo.core.scoring.bias import Bias as Bias
from zoo.core.scoring.edge_bias import EdgeBias as EdgeBias
from zoo.core.scoring.normalizers import Hard as Hard, Kernel as Kernel, upcast as upcast
from zoo.core.scoring.relative_bias import (
    ALiBi as ALiBi,
    RelativeTable as RelativeTable,
    Shaw as Shaw,
    TransformerXL as TransformerXL,
    skew as skew,
)
from zoo.core.scoring.scores import Additive as Additive, General as General, LeakySum as LeakySum, Score as Score
from zoo.core.special_tokens import SYMBOLS as SYMBOLS, Symbols as Symbols
from zoo.core.streaming.fixed_step import (
    Memory as Memory,
    Span as Span,
    StreamingStep as StreamingStep,
    fixed_step as fixed_step,
)
from zoo.core.streaming.stages import (
    Chain as Chain,
    Pointwise as Pointwise,
    Positioned as Positioned,
    Residual as Residual,
    Stream as Stream,
    Windows as Windows,
    latency as latency,
    stream_of as stream_of,
)
from zoo.core.tokens import Tokens as Tokens, left_padded as left_padded
from zoo.core.transforms.activation_checkpointing import recomputed as recomputed
from zoo.core.transforms.freezing import freeze as freeze
from zoo.core.transforms.forward_override import overridden as overridden
from zoo.core.transforms.inference_copy import serving as serving
from zoo.core.transforms.state_dict_layout import (
    Layout as Layout,
    StateDict as StateDict,
    in_blocks as in_blocks,
    join_qkv as join_qkv,
)
