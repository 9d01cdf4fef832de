"""Weights of torchaudio's and Hugging Face's Conformers in our layout, and back.

They are bodies: what stands behind a stem. `body` makes one of ours from them; `to_zoo` reads them for a model by name.
All have odd kernels that read to both sides. What torchaudio computes has no positions.
"""

import re
from functools import partial
from typing import Any

from torch import Tensor, nn

from zoo import WeightsError
from zoo.core import Attention, Composition, ConfigError, Layout, Stack, StateDict, in_blocks
from zoo.plugins.conformer.block import (
    ConformerBlock,
    ConvolutionFirstBlock,
    conformer_encoder,
    relative_attention,
)
from zoo.plugins.conformer.convolution import ConvolutionModule, same
from zoo.plugins.conformer.models import NORMS

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
    unused=r"pos_conv_embed\..*",
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

LAYOUTS = (TORCHAUDIO, WAV2VEC2, PARAKEET)
DEPTHWISE = "blocks.0.convolution.depthwise.weight"


def to_zoo(state: StateDict, model: nn.Module) -> dict[str, Tensor]:
    """Give a Conformer's weights in our layout; keys no table knows are kept, for the error that lists them.

    Biases that the other library does without are 0. Weights for a whole model bring its stem in our layout:
    `{**zoo.create(name, …).state_dict(), **theirs}` are their blocks behind our stem.

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
    _check_config(found[0], ours, model)
    if not isinstance(model, Composition):
        return ours | _zeros(ours, model)
    if not any(key.startswith("stem.") for key in state):
        raise WeightsError(
            "weights of a Conformer's blocks, and none of a stem: give {**model.state_dict(), **weights} for blocks "
            "behind a fresh stem, or take the blocks alone by zoo.plugins.conformer.convert.body(weights, num_heads)"
        )
    encoder: Any = model.encoder
    blocks = ours | _zeros(ours, encoder)
    return {f"encoder.{key}" if key.startswith(("blocks.", "norm.")) else key: x for key, x in blocks.items()}


def body(weights: StateDict | nn.Module, num_heads: int | None = None, *, convolution_first: bool = False) -> Stack:
    """Make what another library's Conformer computes behind its stem, with its weights.

    Args:
        weights: `torchaudio.models.Conformer`, or Hugging Face's Wav2Vec2Conformer or Parakeet encoder, or the state
            dict of one; what belongs to other parts, such as a subsampling, is left out.
        num_heads: heads of its attention, which a state dict does not tell; None for those of a module.
        convolution_first: whether torchaudio's was made so, which a state dict does not tell either: its own default.
            A module's own flag counts.

    Raises:
        WeightsError: If this is no such Conformer, or one that computes something else.
    """
    if isinstance(weights, nn.Module):
        _check_options(weights)
        flags = [part.convolution_first for part in weights.modules() if hasattr(part, "convolution_first")]
        return body(weights.state_dict(), num_heads or _heads(weights), convolution_first=any(flags))
    if num_heads is None:
        raise WeightsError("a state dict does not tell the heads of its attention: give num_heads=, or the module")
    layout = next((layout for layout in LAYOUTS if layout.found(weights) is not None), None)
    if layout is None:
        known = ", ".join(layout.signature for layout in LAYOUTS)
        raise WeightsError(f"no weights of a Conformer's blocks: none of {known} is there")
    if convolution_first and layout is not TORCHAUDIO:
        raise WeightsError(f"convolution_first={convolution_first}: the weights are none of torchaudio's Conformer")
    ours = layout.ours(weights, layout.found(weights) or "")
    _check_known(ours, layout)
    stack = _stack(ours, num_heads, ConvolutionFirstBlock if convolution_first else ConformerBlock)
    ours = {key: value for key, value in ours.items() if key.startswith(("blocks.", "norm."))}
    stack.load_state_dict(ours | _zeros(ours, stack))
    return stack


def _stack(ours: StateDict, num_heads: int, block: type[ConformerBlock]) -> Stack:
    """Make fresh blocks of the kind and sizes of these weights, in their dtype."""
    dim, kernel = ours[DEPTHWISE].shape[0], ours[DEPTHWISE].shape[2]
    stack = conformer_encoder(
        dim,
        len([key for key in ours if re.fullmatch(r"blocks\.\d+\.norm1\.weight", key)]),
        num_heads,
        len(ours["blocks.0.mlp1.up.weight"]),
        block=block,
        attention=relative_attention if _is_relative(ours) else Attention,
        convolution=partial(ConvolutionModule, kernel_size=kernel, norm=NORMS[_norm(ours)]),
    )
    if "norm.weight" in ours:
        stack.norm = nn.LayerNorm(dim, eps=1e-5)
    return stack.to(ours[DEPTHWISE].dtype)


OPTIONS = {
    "hidden_act": ("swish", "silu"),
    "position_embeddings_type": ("relative", None),
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


def _check_known(ours: StateDict, layout: Layout) -> None:
    """Refuse weights inside the blocks, or of rotary positions, that have no place in ours."""
    inside = (f"{layout.signature.split('.')[0]}.", "embed_positions.")
    lost = [key for key in ours if key.startswith(inside)]
    if lost:
        raise WeightsError(f"no blocks here compute with {', '.join(lost)}")


def _heads(module: nn.Module) -> int | None:
    """Give the heads of a module's attention; None where it does not tell."""
    told = [getattr(part, "num_heads", None) for part in module.modules()]
    config = getattr(module, "config", None)
    return next((heads for heads in told if heads), getattr(config, "num_attention_heads", None))


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


def _check_config(layout: Layout, ours: StateDict, model: nn.Module) -> None:
    """Refuse weights whose model is made otherwise; sizes show by their shapes."""
    block: Any = next(part for part in model.modules() if isinstance(part, ConformerBlock))
    depthwise, kernel = block.convolution.depthwise, ours[DEPTHWISE].shape[2]
    placed = any("attention.position" in key for key, _ in block.named_parameters())
    wanted = {
        "kernel_size": (kernel, depthwise.kernel_size == kernel),
        "convolution": ("same", depthwise.padding == same(depthwise.kernel_size)),
        "position": ("transformer-xl" if _is_relative(ours) else "none", _is_relative(ours) == placed),
        "norm": (_norm(ours), isinstance(block.convolution.inner_norm, NORMS[_norm(ours)])),  # type: ignore[arg-type]
        "convolution_first": (False, layout is TORCHAUDIO or not is_convolution_first(model)),
    }
    others = [f"{keyword}={value!r}" for keyword, (value, fits) in wanted.items() if not fits]
    if others:
        raise WeightsError(f"weights of another kind of Conformer: make the model with {', '.join(others)}")


def _is_relative(ours: StateDict) -> bool:
    return "blocks.0.attention.position.u" in ours


def _norm(ours: StateDict) -> str:
    return "batch" if "blocks.0.convolution.inner_norm.running_mean" in ours else "group"


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
