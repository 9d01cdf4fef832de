"""Sounds drawn from a seed, of unequal length, for `zoo.example`."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

SAMPLES = 16_000
"""Of the longest sound: a second."""


def example(config: Mapping[str, Any], batch_size: int, seed: int) -> tuple[Float[Tensor, "b t"], Int[Tensor, " b"]]:
    """Draw noise and its lengths, in samples: the first sound is whole, the last a quarter."""
    generator = torch.Generator().manual_seed(seed)
    sounds = 0.1 * torch.randn(batch_size, SAMPLES, generator=generator)
    return sounds, torch.linspace(SAMPLES, SAMPLES // 4, batch_size).long()
