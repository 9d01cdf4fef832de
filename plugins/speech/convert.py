"""Weights of wav2vec 2.0 from torchaudio and Hugging Face in our layout, and back."""

import re
from dataclasses import replace

from torch import Tensor, nn

from zoo.core import ConfigError, Ctc, Features, Layout, Model, NextToken, StateDict, Tag, in_blocks
from zoo.plugins.shared.audio.stems.wave_stem import STEM_NAMES
from zoo.plugins.speech.models.wav2vec2 import PositionalConvolution

_BLOCK = {
    "attention.q": "attention.q_proj.{p}",
    "attention.k": "attention.k_proj.{p}",
    "attention.v": "attention.v_proj.{p}",
    "attention.out": "attention.out_proj.{p}",
    "norm1": "layer_norm.{p}",
    "mlp.up": "feed_forward.intermediate_dense.{p}",
    "mlp.down": "feed_forward.output_dense.{p}",
    "norm2": "final_layer_norm.{p}",
}


def _names(projection: str, stack: str, classifier: str) -> dict[str, str]:
    """Name the weights of a library.

    Args:
        projection: what stands before the names of the projection.
        stack: what stands before those of the encoder.
        classifier: the name of what gives labels.
    """
    return {
        **{ours: projection * theirs.startswith("feature_projection") + theirs for ours, theirs in STEM_NAMES.items()},
        "stem.position.gain": f"{stack}pos_conv_embed.conv.parametrizations.weight.original0",
        "stem.position.direction": f"{stack}pos_conv_embed.conv.parametrizations.weight.original1",
        "stem.position.bias": f"{stack}pos_conv_embed.conv.bias",
        "stem.norm.{p}": f"{stack}layer_norm.{{p}}",
        "head.linear.{p}": f"{classifier}.{{p}}",
        **in_blocks("encoder.blocks", f"{stack}layers", _BLOCK),
    }


TORCHAUDIO = Layout(
    signature="encoder.transformer.layer_norm.weight", names=_names("encoder.", "encoder.transformer.", "aux")
)
"""`torchaudio.models.Wav2Vec2Model`; its `aux` gives labels."""
HUGGING_FACE = Layout(
    signature="encoder.layer_norm.weight",
    names=_names("", "encoder.", "lm_head"),
    prefix="wav2vec2.",
    outside=("lm_head.",),
    unused=r"masked_spec_embed|(?:quantizer|project_q|project_hid)\..*",
)
"""`Wav2Vec2Model` and the models on it; what only its training needs is left out."""


def to_zoo(state: StateDict, model: nn.Module) -> dict[str, Tensor]:
    """Give the weights of wav2vec 2.0 in our layout; keys no table knows are kept, for the error that lists them.

    Args:
        state: weights of `torchaudio.models.Wav2Vec2Model`; of Hugging Face's `Wav2Vec2Model`, or its kinds for
            pre-training, CTC and labels of frames; or ours. Weight norm may be written as before torch 2.1.
        model: which tells where the norm of the vectors stands, and whether labels are what it writes.
    """
    state = {_recent(key): value for key, value in state.items()}
    for layout in (TORCHAUDIO, HUGGING_FACE):
        if (prefix := layout.found(state)) is not None:
            found = _for(layout, model).ours(state, prefix)
            return {re.sub(r"^classifier\.", "head.linear.", key): value for key, value in found.items()}
    return dict(state)


def to_torchaudio(model: Model) -> dict[str, Tensor]:
    """Give the weights of a `Wav2Vec2` in the layout of torchaudio's, with its classifier or CTC head as `aux`.

    Raises:
        ConfigError: If a weight has no name there, or positions are not by convolution.
    """
    return _peer(model, TORCHAUDIO)


def to_hf(model: Model) -> dict[str, Tensor]:
    """Give the weights of a `Wav2Vec2` in Hugging Face's layout: of `Wav2Vec2ForCTC` with labels, else `Wav2Vec2Model`.

    `masked_spec_embed`, which hides vectors in training, is not there: make theirs with `mask_time_prob=0`.

    Raises:
        ConfigError: If a weight has no name there, positions are not by convolution, or labels are not of vectors.
    """
    if not isinstance(model.head, Tag | Features | NextToken) and model.num_classes:
        raise ConfigError("task='classify' has no counterpart: Hugging Face's has a further layer before its labels")
    peer = _peer(model, HUGGING_FACE)
    return HUGGING_FACE.prefixed(peer) if model.num_classes else peer


def _peer(model: Model, layout: Layout) -> dict[str, Tensor]:
    if not isinstance(model.stem.position, PositionalConvolution):
        raise ConfigError("other libraries tell positions by convolution: make the model with position='convolution'")
    return _for(layout, model).peer(model.state_dict())


def _for(layout: Layout, model: nn.Module) -> Layout:
    """Name what stands elsewhere: the norm of the vectors behind blocks that norm first, and the head of CTC."""
    moved = {"stem.norm.": "encoder.norm."} if "encoder.norm.weight" in model.state_dict() else {}
    if isinstance(model, Ctc):
        moved["head.linear."] = "head."
    names = layout.names
    for before, after in moved.items():
        names = {key.replace(before, after): value for key, value in names.items()}
    return replace(layout, names=names)


def _recent(key: str) -> str:
    """Write weight norm as torch does since 2.1."""
    return re.sub(r"\.weight_([gv])$", lambda end: f".parametrizations.weight.original{'gv'.index(end[1])}", key)
