"""What is known of a mechanism without training: what it can do, its kind, and the state that decoding keeps."""

from dataclasses import fields
from typing import Any

import torch
from torch import nn

from zoo.bench.attention.mechanisms import is_model
from zoo.core import AttentionLayer, Causal, Tokens
from zoo.core.errors import ConfigError
from zoo.core.mechanisms.abilities import Abilities, Mechanism
from zoo.core.mechanisms.recurrence.layer import RecurrentAttention
from zoo.factory.attention_argument import attention
from zoo.factory.create import info
from zoo.processors import available_memory
from zoo.spec import Kind

DIM = 64
"""Channels of the layer whose state is measured: those of the study's encoder."""
KEPT = 8
"""Times the numbers of a forward pass of a layer that a training step of two layers holds, by experience."""
ABILITIES = tuple(field.name for field in fields(Abilities))


def kind_of(mechanism: str) -> Kind:
    """Give the kind by which figures colour a mechanism."""
    if is_model(mechanism):
        return info(mechanism).kind or "attention"
    return "recurrent" if isinstance(_layer(mechanism), RecurrentAttention) else "attention"


def abilities_of(mechanism: str) -> Abilities | None:
    """Tell what an attention can do: what its class states, or what follows from its pattern; None of a whole model.

    With a pattern, softmax is over the keys that a query may read, so padding is exact, any length has its pattern, and
    a stream keeps as many keys as the pattern reaches back.
    """
    if is_model(mechanism):
        return None
    layer = _layer(mechanism)
    if isinstance(layer, Mechanism):
        return layer.abilities
    if isinstance(layer, AttentionLayer):
        bounded = layer.pattern.cover().left is not None
        return Abilities(causal=True, padding_exact=True, any_length=True, streams=bounded, weights=True)
    return None


@torch.no_grad()
def state_bytes(mechanism: str, length: int, heads: int) -> int | None:
    """Measure what a layer of 64 channels keeps after so many tokens of one sequence; None where it cannot decode."""
    if is_model(mechanism):
        return None
    layer: Any = _layer(mechanism, heads).eval()
    try:
        state = layer.state(1, Causal(), capacity=length)
        layer(Tokens(torch.zeros(1, length, DIM), Causal()), None, state)
    except (ConfigError, NotImplementedError):
        return None
    return sum(each.nbytes for each in state.tensors.values())


def recurrent_bytes(model: nn.Module) -> int | None:
    """Give what the largest layer of LSTM or GRU in a model keeps of one sequence; None of a model without one."""
    layers = (layer for layer in model.modules() if isinstance(layer, nn.RNNBase))
    kept = [4 * layer.hidden_size * (1 + isinstance(layer, nn.LSTM)) for layer in layers]
    return max(kept, default=None)


def check_room(mechanism: str, length: int, heads: int) -> None:
    """Refuse what the memory that is free here does not hold.

    Args:
        mechanism: whose layer says what it holds at once; others are not checked, none of which makes a matrix of all
            pairs.
        length: of the sequence.
        heads: of the layer.

    Raises:
        ConfigError: If a training step would take more than half of it.
    """
    layer = None if is_model(mechanism) else _layer(mechanism, heads)
    if isinstance(layer, Mechanism):
        needs = KEPT * 4 * layer.cost(length).numbers
        free = available_memory()
        if free is not None and needs > free / 2:
            raise ConfigError(f"about {needs / 1e9:.3g} GB do not fit the half of {free / 1e9:.3g} GB free")


def _layer(mechanism: str, heads: int = 1) -> nn.Module:
    return attention(mechanism)(DIM, heads)
