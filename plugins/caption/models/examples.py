"""Inputs of captioning models drawn from a seed, for `zoo.example`."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.plugins.shared.images.patch_embed import pair

LENGTH = 12
"""Tokens of the caption so far."""
FIRST = 4
"""The first token that is none of the usual symbols."""


def example(
    config: Mapping[str, Any], batch_size: int, seed: int
) -> tuple[Float[Tensor, "b c h w"], Int[Tensor, "b m"]]:
    """Draw pictures, and captions so far, which begin with BOS."""
    height, width = pair(config["image_size"])
    generator = torch.Generator().manual_seed(seed)
    images = torch.randn(batch_size, config["in_chans"], height, width, generator=generator)
    vocab_size = config["vocab_size"]
    ids = torch.randint(min(FIRST, vocab_size - 1), vocab_size, (batch_size, LENGTH), generator=generator)
    ids[:, 0] = config.get("symbols", (0, 1, 2))[1]
    return images, ids
