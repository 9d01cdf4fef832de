"""Weights of Hugging Face's text models and of `torch.nn.Transformer` in our layout, and back."""

from typing import Any

import torch
from torch import Tensor, nn

from zoo.core import ConfigError, Generator, MaskedToken, Model, Sinusoidal, StateDict
from zoo.plugins.text.state_dict_layouts import BERT, GPT2, MARIAN, TORCH

LAYOUTS = (BERT, GPT2, MARIAN, TORCH)
POSITIONS = ("stem.tokens.position.table", "target.position.table", "target.tokens.position.table")
WRITTEN = {"stem.": "target.", "encoder.": "decoder."}
"""How parts of BERT are called where it writes."""
ABSENT = ("head.pooler.", "head.transform.", "head.norm.", "head.scores.")
"""Parts of BERT that models of another task have no place for."""
MARIAN_POSITIONS = 512
"""How many sinusoids are written down where a model computes as many as it needs."""


def to_zoo(state: StateDict, model: nn.Module) -> dict[str, Tensor]:
    """Give a text model's weights in our layout; keys no table knows are kept, for the error that lists them.

    Args:
        state: weights in Hugging Face's layout of BERT, GPT-2 or Marian, in that of `torch.nn.Transformer`, or in ours.
            The weights of `torch.nn.Transformer` have no embedding: put yours under `target.embed.weight`.
        model: for what it has room for: positions beyond its `max_len` are cut, and the pooler and the output that
            BERT's other tasks have are left out.
    """
    own = model.state_dict()
    ours = dict(state)
    for layout in LAYOUTS:
        prefix = layout.found(state)
        if prefix is not None:
            ours = layout.ours(state, prefix)
            if layout is BERT and isinstance(model, Generator):
                ours = {_written(key): value for key, value in ours.items()}
            ours = _fitted(ours, own)
            if layout is MARIAN and POSITIONS[1] in own:
                ours.setdefault(POSITIONS[1], marian_positions(*own[POSITIONS[1]].shape))
            break
    for key in POSITIONS:
        if key in ours and key in own:
            ours[key] = ours[key][: len(own[key])]
    return ours


def marian_positions(count: int, dim: int) -> Tensor:
    """Give Marian's positions, which newer files do not hold: the sines of all frequencies, then the cosines."""
    rates = 10_000.0 ** -(torch.arange(0, dim, 2) / dim)
    angles = torch.arange(count)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()[:, : dim // 2]], 1)


def _written(key: str) -> str:
    part = next((each for each in WRITTEN if key.startswith(each)), "")
    return WRITTEN.get(part, "") + key.removeprefix(part)


def _fitted(ours: dict[str, Tensor], own: StateDict) -> dict[str, Tensor]:
    """Leave out what the model has no room for, and what says nothing."""
    absent = ABSENT if "head.transform.weight" in own else (*ABSENT, "cls.predictions.")
    found = {key: value for key, value in ours.items() if key in own or not key.startswith(absent)}
    bias = found.pop("head.bias", None)
    if bias is not None and ("head.bias" in own or bias.is_meta or bias.any()):
        found["head.bias"] = bias.flatten()
    return found


def to_hf(model: nn.Module) -> dict[str, Tensor]:
    """Give the weights of a text model in Hugging Face's layout, with all keys of its class there.

    A `Bert` gives those of `BertModel`, or with labels or the task `masked-token` those of the `BertFor…` of its task;
    a `Gpt` those of `GPT2LMHeadModel`, a `Transformer` those of `MarianMTModel`.

    Raises:
        ConfigError: If a weight has no name there, or heads have sizes that do not fit.
    """
    check_equal_heads(model)
    if isinstance(model, Model):
        return _to_bert(model)
    if isinstance(model, Generator) and model.encoder is None:
        return GPT2.prefixed(GPT2.peer(model.state_dict()))
    if isinstance(model, Generator):
        return _to_marian(model)
    raise ConfigError(f"{type(model).__name__} is no text model with a layout at Hugging Face")


def _to_bert(model: Model) -> dict[str, Tensor]:
    peer = BERT.peer(model.state_dict())
    if not isinstance(model.head, MaskedToken):
        del peer["cls.predictions.decoder.weight"]
    return BERT.prefixed(peer) if any(key.startswith(BERT.outside) for key in peer) else peer


def _to_marian(model: Generator) -> dict[str, Tensor]:
    state = dict(model.state_dict())
    bias = state.get("head.bias", state["target.embed.weight"].new_zeros(model.num_classes))
    state["head.bias"] = bias[None]
    if isinstance(model.target.position, Sinusoidal):
        state["target.position.table"] = model.target.position((MARIAN_POSITIONS,))
    return MARIAN.prefixed(MARIAN.peer(state))


def to_torch(model: nn.Module) -> dict[str, Tensor]:
    """Give the weights of a `Transformer`, or of an `EncoderDecoder`, in the layout of `torch.nn.Transformer`.

    That has no embedding and no output: `target.embed.weight` and what else belongs to them are left out. It has norms
    behind both stacks: make ours with `norm="post-last"` or `norm="pre"`, or theirs without norms.

    Raises:
        ConfigError: If a weight has no name there, or heads have sizes that do not fit.
    """
    check_equal_heads(model)
    state = model.state_dict()
    return TORCH.peer({key: value for key, value in state.items() if not key.startswith(("target.", "head."))})


def check_equal_heads(model: nn.Module) -> None:
    """Refuse heads that other libraries do not have.

    Raises:
        ConfigError: If queries, keys and values are not all as wide as the vectors.
    """
    for key, weight in model.state_dict().items():
        if key.endswith(".qkv.weight") and len(weight) != 3 * weight.shape[1]:
            name = key.removesuffix(".qkv.weight")
            part: Any = model.get_submodule(name)
            raise ConfigError(
                f"{name} has {part.num_heads} heads of {part.head_dim} and {part.value_dim} channels over "
                f"{weight.shape[1]}: the other library divides the channels evenly"
            )
