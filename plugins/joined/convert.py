"""Weights of Hugging Face's `VisionEncoderDecoderModel`, `SpeechEncoderDecoderModel` and `EncoderDecoderModel`.

Their decoder is GPT-2 or BERT.
"""

import re
from typing import Any

import torch
from torch import Tensor

from zoo import ModelSpec
from zoo.core import GatedAttention, StateDict
from zoo.registry import load

CROSS = re.compile(r"(?:transformer\.)?h\.(?P<n>\d+)\.(?P<part>crossattention\.\w+|ln_cross_attn)\.(?P<p>weight|bias)")
BRIDGE = "enc_to_dec_proj."
UNUSED = re.compile(r"(?:transformer\.)?h\.\d+\.crossattention\.(?:masked_)?bias")


def to_zoo(state: StateDict, model: Any) -> dict[str, Tensor]:
    """Give the weights of a joined model in our layout; keys that nothing knows are kept, for an error that lists them.

    Encoder and decoder are converted as their own plugins do it. Their cross-attention has no gate, so ours is open;
    where theirs has no projection, that of our bridge changes nothing.

    Args:
        state: weights of Hugging Face's joined models, or ours.
        model: joined.
    """
    if any(key.startswith(("stem.", "target.")) for key in state):
        return dict(state)
    encoder, decoder = model.joined_specs
    found = _part(state, "encoder.")
    ours = {f"stem.model.{key}": value for key, value in _converted(encoder, found, model.stem.model).items()}
    written = {key: value for key, value in _part(state, "decoder.").items() if not UNUSED.fullmatch(key)}
    cross = {key: written.pop(key) for key in list(written) if CROSS.fullmatch(key)}
    ours |= _converted(decoder, written, model) | crossing(cross) | bridged(_part(state, BRIDGE), model)
    ours |= opened(ours, model)
    rest = {key: value for key, value in state.items() if not key.startswith(("encoder.", "decoder.", BRIDGE))}
    return ours | rest


def crossing(state: StateDict) -> dict[str, Tensor]:
    """Give GPT-2's cross-attention: queries, keys with values, both as Conv1D, and the norm in front."""
    parts: dict[tuple[str, str], dict[str, Tensor]] = {}
    for key, value in state.items():
        match = CROSS.fullmatch(key)
        assert match is not None
        matrix = match["p"] == "weight" and not match["part"].startswith("ln_")
        parts.setdefault((match["n"], match["p"]), {})[match["part"]] = value.T if matrix else value
    names = {"ln_cross_attn": "cross_norm", "crossattention.c_proj": "cross.out", "crossattention.c_attn": "cross.qkv"}
    ours: dict[str, Tensor] = {}
    for (n, p), found in parts.items():
        queries = found.pop("crossattention.q_attn", None)
        if queries is not None and "crossattention.c_attn" in found:
            found["crossattention.c_attn"] = torch.cat([queries, found["crossattention.c_attn"]])
        ours |= {f"decoder.blocks.{n}.{names.get(part, part)}.{p}": value for part, value in found.items()}
    return ours


def opened(ours: StateDict, model: Any) -> dict[str, Tensor]:
    """Open the gates of the parts that weights are there for."""
    gates = {key: value for key, value in model.state_dict().items() if key.endswith(".gate") and key not in ours}
    parts = {key: key.removesuffix("gate") for key in gates}
    known = {key for key, part in parts.items() if any(each.startswith(part) for each in ours)}
    return {key: torch.full_like(gates[key], GatedAttention.OPEN) for key in known}


def bridged(state: StateDict, model: Any) -> dict[str, Tensor]:
    """Give the projection to the decoder's channels: theirs, or one that changes nothing."""
    linear = getattr(model.stem.bridge, "linear", None)
    if state or not isinstance(linear, torch.nn.Linear) or linear.in_features != linear.out_features:
        return {f"stem.bridge.linear.{key}": value for key, value in state.items()}
    weight = linear.weight
    return {
        "stem.bridge.linear.weight": torch.eye(len(weight), dtype=weight.dtype, device=weight.device),
        "stem.bridge.linear.bias": weight.new_zeros(len(weight)),
    }


def _part(state: StateDict, prefix: str) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}


def _converted(spec: ModelSpec, state: StateDict, model: Any) -> dict[str, Tensor]:
    return dict(load(spec, spec.convert)(state, model)) if spec.convert else dict(state)
