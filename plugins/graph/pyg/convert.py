"""Weights of PyTorch Geometric's layers to ours and back: GATConv, GATv2Conv, TransformerConv, and networks of them."""

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from zoo.core import ConfigError
from zoo.plugins.graph.layers.edge_attention import EdgeAttention

State = Mapping[str, Tensor]
NAMES = {
    "gat": {
        "score.value.weight": "lin.weight",
        "score.target.weight": "lin_dst.weight",
        "score.of_source": "att_src",
        "score.of_target": "att_dst",
        "score.edge.weight": "lin_edge.weight",
        "score.of_edge": "att_edge",
        "skip.weight": "res.weight",
        "bias": "bias",
    },
    "gatv2": {
        "score.source.weight": "lin_l.weight",
        "score.source.bias": "lin_l.bias",
        "score.target.weight": "lin_r.weight",
        "score.target.bias": "lin_r.bias",
        "score.vector": "att",
        "score.edge.weight": "lin_edge.weight",
        "skip.weight": "res.weight",
        "bias": "bias",
    },
    "scaled_dot": {
        "score.query.weight": "lin_query.weight",
        "score.query.bias": "lin_query.bias",
        "score.key.weight": "lin_key.weight",
        "score.key.bias": "lin_key.bias",
        "score.value.weight": "lin_value.weight",
        "score.value.bias": "lin_value.bias",
        "score.edge.weight": "lin_edge.weight",
        "skip.weight": "lin_skip.weight",
        "skip.bias": "lin_skip.bias",
        "gate.weight": "lin_beta.weight",
    },
}
"""Ours to theirs, by score."""
SIGNATURES = {"att_src": "gat", "att": "gatv2", "lin_query.weight": "scaled_dot"}
"""What only the layer of one score has."""


def score_of(state: State) -> str | None:
    """Tell whose weights these are; None if no layer's that we know."""
    return next((score for name, score in SIGNATURES.items() if name in state), None)


def state_from_pyg(state: State) -> dict[str, Tensor]:
    """Give the weights of a layer under our names.

    Raises:
        ConfigError: If it is no layer that we know, or a weight has no place.
    """
    score = score_of(state)
    if score is None:
        raise ConfigError(f"no layer of GATConv, GATv2Conv or TransformerConv has the weights {', '.join(state)}")
    ours = {peer: own for own, peer in NAMES[score].items()} | {"lin_src.weight": "score.value.weight"}
    lost = [key for key in state if key not in ours]
    if lost:
        raise ConfigError(f"no place for {', '.join(lost)} in a layer of score {score!r}")
    return {ours[key]: value[0] if value.ndim == 3 else value for key, value in state.items()}


def state_to_pyg(state: State, score: str) -> dict[str, Tensor]:
    """Give the weights of a layer under their names.

    Args:
        state: of an `EdgeAttention`.
        score: its name.
    """
    found = {NAMES[score][key]: value.detach() for key, value in state.items()}
    if score == "gat" and "lin_dst.weight" in found:
        found["lin_src.weight"] = found.pop("lin.weight")
    return {key: value[None] if key.startswith("att") else value for key, value in found.items()}


def layers_of(model: nn.Module) -> list[tuple[str, EdgeAttention]]:
    """Give the layers of a model with their names, in the order of use."""
    return [(name, part) for name, part in model.named_modules() if isinstance(part, EdgeAttention)]


def to_zoo(state: State, model: nn.Module) -> State:
    """Give weights of a network of PyTorch Geometric's layers in our layout; others as they are.

    Layers are taken in the natural order of their names, such as `conv1`, `conv2` or `convs.0`, `convs.1`. Of a
    network that labels by a linear layer or norms between, the other names have to be ours.

    Raises:
        ConfigError: If there are more or fewer layers than ours, or they are of another score.
    """
    ends = {f".{name}": score for name, score in SIGNATURES.items()}
    prefixes = sorted({key.removesuffix(end) for key in state for end in ends if key.endswith(end)}, key=_natural)
    layers = layers_of(model)
    if not prefixes or any(key.startswith(f"{name}.") for key in state for name, _ in layers):
        return state
    if len(prefixes) != len(layers):
        raise ConfigError(f"weights of {len(prefixes)} layers, {', '.join(prefixes)}, for a model of {len(layers)}")
    found = {key: value for key, value in state.items() if not key.startswith(tuple(f"{one}." for one in prefixes))}
    for prefix, (name, _) in zip(prefixes, layers, strict=True):
        own = {key.removeprefix(f"{prefix}."): x for key, x in state.items() if key.startswith(f"{prefix}.")}
        found |= {f"{name}.{key}": value for key, value in state_from_pyg(own).items()}
    return found


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def score_name(layer: EdgeAttention) -> str:
    """Give the name of a layer's score."""
    from zoo.plugins.graph.layers.attention_scores import SCORES

    return next(name for name, kind in SCORES.items() if type(layer.score) is kind)


def channels_of(layer: EdgeAttention) -> int | tuple[int, int]:
    """Give the channels of nodes, or of sources and targets where these have projections of their own."""
    score: Any = layer.score
    if score_name(layer) == "gat":
        return _inside(score.value) if score.target is None else (_inside(score.value), _inside(score.target))
    source, target = (score.source, score.target) if score_name(layer) == "gatv2" else (score.key, score.query)
    return _inside(source), _inside(target)


def _inside(layer: nn.Module) -> int:
    return int(torch.as_tensor(layer.weight).shape[1])
