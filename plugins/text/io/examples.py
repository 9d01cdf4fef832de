"""Inputs drawn from a seed, with rows of unequal length, for `zoo.example`."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

LENGTH = 32
"""Tokens of the longest row, where the model reads as many."""
FIRST = 4
"""The first token that is none of the usual symbols."""


def encoder_example(
    config: Mapping[str, Any], batch_size: int, seed: int
) -> tuple[Int[Tensor, "b n"], Int[Tensor, " b"]]:
    """Draw ids and their lengths, for a model that reads one text."""
    generator = torch.Generator().manual_seed(seed)
    return _texts(config, batch_size, generator)


def translation_example(
    config: Mapping[str, Any], batch_size: int, seed: int
) -> tuple[Int[Tensor, "b n"], Int[Tensor, " b"], Int[Tensor, "b m"]]:
    """Draw a source, its lengths, and the ids written so far, which begin with BOS, for a model with an encoder."""
    generator = torch.Generator().manual_seed(seed)
    source, lengths = _texts(config, batch_size, generator)
    target, _ = _texts(config, batch_size, generator)
    target[:, 0] = config.get("symbols", (0, 1, 2))[1]
    return source, lengths, target[:, : max(2, 3 * target.shape[1] // 4)]


def _texts(
    config: Mapping[str, Any], batch_size: int, generator: torch.Generator
) -> tuple[Int[Tensor, "b n"], Int[Tensor, " b"]]:
    vocab_size = config["vocab_size"]
    n = min(LENGTH, config.get("max_len", LENGTH))
    ids = torch.randint(min(FIRST, vocab_size - 1), vocab_size, (batch_size, n), generator=generator)
    lengths = torch.linspace(n, max(n // 4, 1), batch_size).long()  # the first row is whole, the last a quarter
    return ids, lengths
