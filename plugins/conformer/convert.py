"""Weights of torchaudio's and Hugging Face's Conformers in our layout, and back.

They are bodies: what stands behind a stem. `body` makes one of ours from them; `to_zoo` reads them for a model by name.
All have odd kernels that read to both sides. What torchaudio computes has no positions.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from zoo import WeightsError
from zoo.core import Attention, Composition, ConfigError, Ctc, Layout, Stack, StateDict, Tag, in_blocks
from zoo.plugins.conformer.block import (
    ConformerBlock,
    ConvolutionFirstBlock,
    conformer_encoder,
    relative_attention,
)
from zoo.plugins.conformer.convolution import ConvolutionModule, same
from zoo.plugins.conformer.models import NORMS
from zoo.plugins.conformer.rotary_input import RotaryInputAttention
from zoo.plugins.shared.audio.stems.wave_stem import STEM_NAMES

TORCHAUDIO = Layout(
    signature="conformer_layers.0.self_attn.in_proj_weight",
    names=in_blocks(
        "blocks",
        "conformer_layers",
        {
            "norm1": "ffn1.sequential.0.{p}",
            "mlp1.up": "ffn1.sequential.1.{p}",
            "mlp1.down": "ffn1.sequential.4.{p}",
            "norm2": "self_attn_layer_norm.{p}",
            "attention.qkv": "self_attn.in_proj_{p}",
            "attention.out": "self_attn.out_proj.{p}",
            "convolution.norm": "conv_module.layer_norm.{p}",
            "convolution.gated": "conv_module.sequential.0.{p}",
            "convolution.depthwise": "conv_module.sequential.2.{p}",
            "convolution.inner_norm": "conv_module.sequential.3.{p}",
            "convolution.out": "conv_module.sequential.5.{p}",
            "norm3": "ffn2.sequential.0.{p}",
            "mlp2.up": "ffn2.sequential.1.{p}",
            "mlp2.down": "ffn2.sequential.4.{p}",
            "norm": "final_layer_norm.{p}",
        },
    ),
    pointwise=r".*\.conv_module\.sequential\.[05]\.weight",
)
"""`torchaudio.models.Conformer`; made with `use_group_norm`, it has the norm `group`."""

WAV2VEC2 = Layout(
    signature="layers.0.self_attn.linear_q.weight",
    names={
        "norm.{p}": "layer_norm.{p}",
        **in_blocks(
            "blocks",
            "layers",
            {
                "norm1": "ffn1_layer_norm.{p}",
                "mlp1.up": "ffn1.intermediate_dense.{p}",
                "mlp1.down": "ffn1.output_dense.{p}",
                "norm2": "self_attn_layer_norm.{p}",
                "attention.q": "self_attn.linear_q.{p}",
                "attention.k": "self_attn.linear_k.{p}",
                "attention.v": "self_attn.linear_v.{p}",
                "attention.out": "self_attn.linear_out.{p}",
                "attention.position.project": "self_attn.linear_pos.{p}",
                "attention.position.u": "self_attn.pos_bias_u",
                "attention.position.v": "self_attn.pos_bias_v",
                "convolution.norm": "conv_module.layer_norm.{p}",
                "convolution.gated": "conv_module.pointwise_conv1.{p}",
                "convolution.depthwise": "conv_module.depthwise_conv.{p}",
                "convolution.inner_norm": "conv_module.batch_norm.{p}",
                "convolution.out": "conv_module.pointwise_conv2.{p}",
                "norm3": "ffn2_layer_norm.{p}",
                "mlp2.up": "ffn2.intermediate_dense.{p}",
                "mlp2.down": "ffn2.output_dense.{p}",
                "norm": "final_layer_norm.{p}",
            },
        ),
    },
    unused=r"pos_conv_embed\..*|embed_positions\..*",
    pointwise=r".*\.pointwise_conv[12]\.weight",
)
"""Hugging Face's `Wav2Vec2ConformerEncoder`, with a norm behind its last block; it uses no positional convolution."""

PARAKEET = Layout(
    signature="layers.0.self_attn.q_proj.weight",
    names=in_blocks(
        "blocks",
        "layers",
        {
            "norm1": "norm_feed_forward1.{p}",
            "mlp1.up": "feed_forward1.linear1.{p}",
            "mlp1.down": "feed_forward1.linear2.{p}",
            "norm2": "norm_self_att.{p}",
            "attention.q": "self_attn.q_proj.{p}",
            "attention.k": "self_attn.k_proj.{p}",
            "attention.v": "self_attn.v_proj.{p}",
            "attention.out": "self_attn.o_proj.{p}",
            "attention.position.project": "self_attn.relative_k_proj.{p}",
            "attention.position.u": "self_attn.bias_u",
            "attention.position.v": "self_attn.bias_v",
            "convolution.norm": "norm_conv.{p}",
            "convolution.gated": "conv.pointwise_conv1.{p}",
            "convolution.depthwise": "conv.depthwise_conv.{p}",
            "convolution.inner_norm": "conv.norm.{p}",
            "convolution.out": "conv.pointwise_conv2.{p}",
            "norm3": "norm_feed_forward2.{p}",
            "mlp2.up": "feed_forward2.linear1.{p}",
            "mlp2.down": "feed_forward2.linear2.{p}",
            "norm": "norm_out.{p}",
        },
    ),
    pointwise=r".*\.pointwise_conv[12]\.weight",
)
"""Hugging Face's `ParakeetEncoder` behind its subsampling."""

WAVE_STEM = Layout(
    signature="feature_extractor.conv_layers.0.conv.weight",
    names=STEM_NAMES | {"head.linear.{p}": "lm_head.{p}"},
    prefix="wav2vec2_conformer.",
    unused=r"masked_spec_embed|(?:quantizer|project_q|project_hid)\..*",
)
"""The stem of Hugging Face's `Wav2Vec2ConformerModel`, and what emits tokens in its `Wav2Vec2ConformerForCTC`."""

LAYOUTS = (TORCHAUDIO, WAV2VEC2, PARAKEET)
DEPTHWISE = "blocks.0.convolution.depthwise.weight"


def to_zoo(state: StateDict, model: nn.Module) -> dict[str, Tensor]:
    """Give a Conformer's weights in our layout; keys no table knows are kept, for the error that lists them.

    Biases that the other library does without are 0. Weights for a whole model bring its stem, except where it has
    none, `stem="vectors"`: `{**zoo.create(name, …).state_dict(), **theirs}` are their blocks behind our stem.

    Args:
        state: weights of `torchaudio.models.Conformer`, of Hugging Face's Wav2Vec2Conformer or Parakeet encoder, or
            ours.
        model: a `Conformer`, or a `Stack` of its blocks, of the same sizes. Weights of torchaudio do not tell whether
            the convolution stands in front of the attention: that is as the model was made (`convolution_first`).

    Raises:
        WeightsError: If the model is made otherwise than theirs, the text says how to make it; or a stem is missing.
    """
    found = next(((layout, prefix) for layout in LAYOUTS if (prefix := layout.found(state)) is not None), None)
    if found is None:
        return dict(state)
    ours = found[0].ours(state, found[1])
    _check_config(state, model)
    if not isinstance(model, Composition):
        return ours | _zeros(ours, model)
    encoder: Any = model.encoder
    blocks = ours | _zeros(ours, encoder)
    blocks = {f"encoder.{key}" if key.startswith(("blocks.", "norm.")) else key: x for key, x in blocks.items()}
    if not isinstance(model, Ctc) and not (isinstance(model.head, Tag) and model.num_classes):  # it is of frames
        blocks = {key: value for key, value in blocks.items() if key not in ("lm_head.weight", "lm_head.bias")}
    if (prefix := WAVE_STEM.found(blocks)) is not None:
        blocks = WAVE_STEM.ours(blocks, prefix)
    if isinstance(model, Ctc):
        blocks = {re.sub(r"^head\.linear\.", "head.", key): value for key, value in blocks.items()}
    has_stem = any(key.startswith("stem.") for key in model.state_dict())
    if has_stem and not any(key.startswith("stem.") for key in blocks):
        raise WeightsError(
            "weights of a Conformer's blocks, and none of a stem: make the model with stem='vectors', which has none, "
            "or give {**model.state_dict(), **weights} for blocks behind a fresh stem"
        )
    return blocks


def body(weights: StateDict | nn.Module, num_heads: int | None = None, *, convolution_first: bool = False) -> Stack:
    """Make what another library's Conformer computes behind its stem, with its weights.

    Args:
        weights: `torchaudio.models.Conformer`, or Hugging Face's Wav2Vec2Conformer or Parakeet encoder, or the state
            dict of one; what belongs to other parts, such as a subsampling, is left out.
        num_heads: heads of its attention, which a state dict without positions does not tell; None for those that a
            module has, or positions tell.
        convolution_first: whether torchaudio's was made so, which a state dict does not tell either: its own default.
            A module's own flag counts.

    Raises:
        WeightsError: If this is no such Conformer, or one that computes something else.
    """
    if isinstance(weights, nn.Module):
        _check_options(weights)
        flags = [part.convolution_first for part in weights.modules() if hasattr(part, "convolution_first")]
        return body(weights.state_dict(), num_heads or _heads(weights), convolution_first=any(flags))
    told = keywords_of(weights)
    if told is None:
        known = ", ".join(layout.signature for layout in LAYOUTS)
        raise WeightsError(f"no weights of a Conformer's blocks: none of {known} is there")
    told |= {} if num_heads is None else {"num_heads": num_heads}
    if "num_heads" not in told:
        raise WeightsError("a state dict does not tell the heads of its attention: give num_heads=, or the module")
    if convolution_first and TORCHAUDIO.found(weights) is None:
        raise WeightsError(f"convolution_first={convolution_first}: the weights are none of torchaudio's Conformer")
    stack = _stack(told, ConvolutionFirstBlock if convolution_first else ConformerBlock)
    ours = to_zoo(weights, stack)
    _check_known(ours)
    stack = stack.to(ours[DEPTHWISE].dtype)
    stack.load_state_dict({key: value for key, value in ours.items() if key.startswith(("blocks.", "norm."))})
    return stack


def _stack(told: Mapping[str, Any], block: type[ConformerBlock]) -> Stack:
    """Make fresh blocks of these sizes and options."""
    attention = {"none": Attention, "transformer-xl": relative_attention, "rotary-input": RotaryInputAttention}
    stack = conformer_encoder(
        told["dim"],
        told["depth"],
        told["num_heads"],
        told["mlp_dim"],
        block=block,
        attention=attention[told["position"]],
        convolution=partial(ConvolutionModule, kernel_size=told["kernel_size"], norm=NORMS[told["norm"]]),
    )
    if told["last_norm"]:
        stack.norm = nn.LayerNorm(told["dim"], eps=1e-5)
    return stack


OPTIONS = {
    "hidden_act": ("swish", "silu"),
    "position_embeddings_type": ("relative", "rotary", None),
    "layer_norm_eps": (1e-5,),
}
"""Options of Hugging Face's modules that weights do not tell, and the values that our blocks compute."""


def _check_options(module: nn.Module) -> None:
    """Refuse a module with options that weights do not tell, and for which there are no blocks."""
    config = getattr(module, "config", None)
    for name, known in OPTIONS.items():
        value = getattr(config, name, known[0])
        if value not in known:
            wanted = " or ".join(repr(x) for x in known)
            raise WeightsError(f"{name}={value!r} of {type(module).__name__}: the blocks here compute {wanted}")


def _check_known(ours: StateDict) -> None:
    """Refuse weights inside the blocks that have no place in ours."""
    inside = tuple(f"{layout.signature.split('.')[0]}." for layout in LAYOUTS)
    lost = [key for key in ours if key.startswith(inside)]
    if lost:
        raise WeightsError(f"no blocks here compute with {', '.join(lost)}")


def _heads(module: nn.Module) -> int | None:
    """Give the heads of a module's attention; None where it does not tell."""
    told = [getattr(part, "num_heads", None) for part in module.modules()]
    config = getattr(module, "config", None)
    return next((heads for heads in told if heads), getattr(config, "num_attention_heads", None))


def keywords_of(state: StateDict) -> dict[str, Any] | None:
    """Give the keywords of a Conformer that weights of another library tell; None for others' weights.

    Heads are told where positions are. Without a stem among the weights, it is `vectors`; of another library's stem
    nothing is told.
    """
    found = next(((layout, prefix) for layout in LAYOUTS if (prefix := layout.found(state)) is not None), None)
    if found is None:
        return None
    layout, prefix = found
    ours = layout.ours(state, prefix)
    dim, _, kernel = ours[DEPTHWISE].shape
    told = {
        "dim": dim,
        "depth": len([key for key in ours if re.fullmatch(r"blocks\.\d+\.norm1\.weight", key)]),
        "mlp_dim": len(ours["blocks.0.mlp1.up.weight"]),
        "kernel_size": kernel,
        "convolution": "same",
        "norm": "batch" if "blocks.0.convolution.inner_norm.running_mean" in ours else "group",
        "last_norm": "norm.weight" in ours,
    }
    return told | _positions(ours, state.get(f"{prefix}embed_positions.inv_freq"), dim) | _stem(state)


def _positions(ours: StateDict, frequencies: Tensor | None, dim: int) -> dict[str, Any]:
    """Tell positions, and the heads by them."""
    if frequencies is not None:
        pairs = len(frequencies)
        usual = 10_000.0 ** (-torch.arange(pairs).double() / pairs)
        if not torch.allclose(frequencies.double().cpu(), usual, rtol=1e-3):
            raise WeightsError("embed_positions.inv_freq is of another rotary_embedding_base than 10000")
        return {"position": "rotary-input", "num_heads": dim // (2 * pairs)}
    if (bias := ours.get("blocks.0.attention.position.u")) is not None:
        return {"position": "transformer-xl", "num_heads": len(bias)}
    return {"position": "none"}


def _stem(state: StateDict) -> dict[str, Any]:
    prefix = WAVE_STEM.found(state)
    if prefix is not None:
        norm = "layer" if f"{prefix}feature_extractor.conv_layers.1.layer_norm.weight" in state else "group"
        return {"stem": "wave", "conv_dim": len(state[prefix + WAVE_STEM.signature]), "conv_norm": norm}
    return {} if any(re.search(r"(^|\.)(stem|subsampling)\.", key) for key in state) else {"stem": "vectors"}


def to_torchaudio(stack: nn.Module) -> dict[str, Tensor]:
    """Give the weights of Conformer blocks in the layout of `torchaudio.models.Conformer`.

    Of `ConvolutionFirstBlock`s they belong to one made with `convolution_first=True`.

    Raises:
        ConfigError: If a weight has no name there, such as those of positions.
    """
    return TORCHAUDIO.peer(_with_odd_kernels(stack))


def to_parakeet(stack: nn.Module) -> dict[str, Tensor]:
    """Give the weights of Conformer blocks in the layout of Hugging Face's `ParakeetEncoder`, without a subsampling.

    Raises:
        ConfigError: If a weight has no name there, or the convolution stands in front of the attention.
    """
    if is_convolution_first(stack):
        raise ConfigError("ConvolutionFirstBlock: Parakeet's attention stands in front of its convolution")
    return PARAKEET.peer(_with_odd_kernels(stack))


def _with_odd_kernels(stack: nn.Module) -> dict[str, Tensor]:
    """Give weights in which an even kernel has one place more, in front, which is 0: the same function."""
    for part in stack.modules():
        if isinstance(part, ConvolutionModule) and part.depthwise.padding != same(part.depthwise.kernel_size):
            raise ConfigError(f"padding={part.depthwise.padding}: other libraries' kernels read to both sides alike")
    state = dict(stack.state_dict())
    for key, value in state.items():
        if key.endswith(".depthwise.weight") and value.shape[2] % 2 == 0:
            state[key] = nn.functional.pad(value, (1, 0))
    return state


def is_convolution_first(model: nn.Module) -> bool:
    """Tell whether the convolutions of a model's Conformer blocks stand in front of their attention."""
    return any(isinstance(part, ConvolutionFirstBlock) for part in model.modules())


def _check_config(state: StateDict, model: nn.Module) -> None:
    """Refuse weights whose model is made otherwise; sizes show by their shapes."""
    block: Any = next(part for part in model.modules() if isinstance(part, ConformerBlock))
    stack: Any = next(part for part in model.modules() if isinstance(part, Stack))
    depthwise, told = block.convolution.depthwise, keywords_of(state)
    assert told is not None
    told |= {"convolution_first": False}  # but of torchaudio's, where nothing tells it
    fits = {
        "kernel_size": depthwise.kernel_size == told["kernel_size"],
        "convolution": depthwise.padding == same(depthwise.kernel_size),
        "position": told["position"] == _position_of(block),
        "norm": isinstance(block.convolution.inner_norm, NORMS[told["norm"]]),  # type: ignore[arg-type]
        "convolution_first": TORCHAUDIO.found(state) is not None or not is_convolution_first(model),
        "last_norm": told["last_norm"] == isinstance(stack.norm, nn.LayerNorm),
        "num_heads": told.get("num_heads", block.attention.num_heads) == block.attention.num_heads,
    }
    others = [f"{keyword}={told[keyword]!r}" for keyword, same_as in fits.items() if not same_as]
    if others:
        raise WeightsError(f"weights of another kind of Conformer: make the model with {', '.join(others)}")


def _position_of(block: Any) -> str:
    if isinstance(block.attention, RotaryInputAttention):
        return "rotary-input"
    return "transformer-xl" if any("attention.position" in key for key, _ in block.named_parameters()) else "none"


def _zeros(ours: StateDict, stack: nn.Module) -> dict[str, Tensor]:
    """Give 0 for the biases that no block of theirs has."""
    like = ours[DEPTHWISE]
    peer = {_anywhere(key) for key in ours}
    return {
        key: like.new_zeros(value.shape)
        for key, value in stack.state_dict().items()
        if key.endswith(".bias") and _anywhere(key) not in peer and f"{key.removesuffix('bias')}weight" in ours
    }


def _anywhere(key: str) -> str:
    """Give the name of a weight without the number of its block."""
    return re.sub(r"blocks\.\d+\.", "", key)
