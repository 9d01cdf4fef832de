"""Sounds drawn from a seed, of unequal length, for `zoo.example`; where they are transcribed, with tokens."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from zoo.core import SYMBOLS

SAMPLES = 16_000
"""Of the longest sound: a second."""
WRITTEN = 4
"""Tokens written so far, the begin counted: the shortest sound has six vectors."""


def example(config: Mapping[str, Any], batch_size: int, seed: int) -> tuple[Tensor, ...]:
    """Draw noise (b, t) and its lengths (b), in samples: the first sound is whole, the last a quarter.

    Where the task is `generate`, ids (b, m) follow, which begin with the begin.
    """
    generator = torch.Generator().manual_seed(seed)
    sounds = 0.1 * torch.randn(batch_size, SAMPLES, generator=generator)
    lengths = torch.linspace(SAMPLES, SAMPLES // 4, batch_size).long()
    if config.get("task") != "generate":
        return sounds, lengths
    size = len(config.get("labels") or ()) or config["vocab_size"]
    ids = torch.randint(len(SYMBOLS), size, (batch_size, WRITTEN), generator=generator)
    ids[:, 0] = SYMBOLS.bos
    return sounds, lengths, ids
