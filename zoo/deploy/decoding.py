"""Decoding as a function without a state: the cache of keys and values is an input, and an output.

Axes: b rows, n tokens, p tokens that the cache keeps, m vectors of the source, g heads, d head size.
"""

from typing import Any

import torch
from torch import Tensor, nn

from zoo.core import Composition, Generator, Tokens, Valid
from zoo.core.cache.decoder import DecoderState, LayerState
from zoo.core.cache.state import KeyValues, Read
from zoo.core.cache.static import Static


class Past(KeyValues):
    """Key-value cache whose lengths are symbols: everything is kept, and what is there a mask says.

    Args:
        k: keys that are kept.
        v: values that are kept.
        mask: which of these and of the new tokens are there.
        position: of these and of the new ones.
    """

    def __init__(self, k: Tensor, v: Tensor, mask: Tensor, position: Tensor) -> None:
        super().__init__(1)
        self.tensors = {"k": k, "v": v}
        self.mask, self.position = mask, position

    def append(self, k: Tensor, v: Tensor, valid: Tensor | None = None, position: Tensor | None = None) -> Read:
        """See `KeyValues.append`."""
        self.tensors = {"k": torch.cat([self.tensors["k"], k], 1), "v": torch.cat([self.tensors["v"], v], 1)}
        self.last = position
        return Read(self.tensors["k"], self.tensors["v"], Valid(self.mask), self.position)

    def crop(self, length: Any) -> None:
        """Do nothing: each call has a cache of its own."""


class Decode(nn.Module):
    """Scores of the next token: reads ids (b, n) behind what the cache keeps, and gives the cache with these.

    Args:
        model: decoder alone, or behind an encoder.
    """

    def __init__(self, model: Generator) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, mask: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Give the scores (b, vocabulary) behind the last id, and keys and values (b, p + n, g, d) of each layer.

        Args:
            ids: tokens (b, n), padding in front.
            mask: which tokens are there (b, p + n), those that are kept first.
            tensors: keys and values of each layer (b, p, g, d); of a source its mask (b, m), and keys and values.
        """
        n = ids.shape[1]
        position = mask.long().cumsum(1) - 1
        own = position[:, mask.shape[1] - n :]
        states = layer_states(self.model.decoder, mask, position, tensors)
        tokens = Tokens(self.model.target.vectors(ids, own), None, Valid(mask[:, mask.shape[1] - n :]), own)
        x = self.model.decoder(tokens, None, DecoderState(states)).x
        scores = self.model.head(Tokens(x[:, n - 1 :]))[:, 0]
        return scores, *(state.own.tensors[name] for state in states for name in ("k", "v"))

    def empty(self, rows: int) -> list[Tensor]:
        """Give the cache before the first token."""
        return no_past(self.model.decoder, rows)


class Encode(nn.Module):
    """What a decoder reads of a source: which vectors are there, and their keys and values in each layer.

    Args:
        model: with an encoder.
    """

    def __init__(self, model: Composition) -> None:
        super().__init__()
        self.model: Any = model

    def forward(self, *source: Tensor) -> tuple[Tensor, ...]:
        """Give the mask (b, m), and keys and values (b, m, g, d) of each layer."""
        context = self.model.encode(*source)
        mask = mask_of(context)
        context = context.without_padding()
        found: list[Tensor] = [mask]
        for block in self.model.decoder.blocks:
            _, k, v = block.cross.project(context, context)
            if block.cross.position is not None:
                (k,) = block.cross.position.turn(context.positions, k)
            found += [k, v]
        return tuple(found)


def layer_states(decoder: Any, mask: Tensor, position: Tensor, tensors: tuple[Tensor, ...]) -> list[LayerState]:
    """Give the state of each layer of a decoder.

    Args:
        decoder: its blocks have a cache each.
        mask: which of what is kept and of the new tokens are there (b, p + n).
        position: of these (b, p + n).
        tensors: keys and values of each layer (b, p, g, d); of a source its mask (b, m), and keys and values.
    """
    count = len(decoder.blocks)
    past, source = tensors[: 2 * count], tensors[2 * count :]
    return [LayerState(Past(past[2 * i], past[2 * i + 1], mask, position), _static(source, i)) for i in range(count)]


def no_past(decoder: Any, rows: int) -> list[Tensor]:
    """Give keys and values (b, 0, g, d) of each layer before the first token."""
    found = []
    for block in decoder.blocks:
        attention = block.attention
        for size in (attention.head_dim, attention.value_dim):
            found.append(torch.zeros(rows, 0, attention.kv_heads, size, dtype=attention.qkv.weight.dtype))
    return found


def _static(source: tuple[Tensor, ...], layer: int) -> Static | None:
    if not source:
        return None
    mask, *kept = source
    state = Static(1)
    state.tensors = {"k": kept[2 * layer], "v": kept[2 * layer + 1], "valid": mask}
    return state


def mask_of(tokens: Tokens) -> Tensor:
    """Give which vectors are there (b, m), also where all are."""
    valid = tokens.valid()
    return torch.ones_like(tokens.x[:, :, 0], dtype=torch.bool) if valid is None else valid
