"""Attention rollout, arXiv:2005.00928 sec. 3: how much each output vector mixes each input vector, by weights alone.

It multiplies the weights of all layers and takes the residual connection as half of each. It knows neither values nor
MLPs nor the answer, so it is the same for every class.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from zoo.errors import ConfigError

Heads = Literal["mean", "max"]
"""How the heads of a layer are joined; the paper takes the mean."""


def rollout(layers: Sequence[Float[Tensor, "_ n n"]], heads: Heads = "mean") -> Float[Tensor, "n n"]:
    """Join the weights of layers, in the order of use: the product of 0.5 A + 0.5 I, with rows that sum to 1.

    Args:
        layers: weights of each layer and head.
        heads: `mean`, or `max`, whose rows are renormed.

    Raises:
        ConfigError: If there are none.
    """
    if not layers:
        raise ConfigError("a rollout of no layers: it joins the self-attention of at least one")
    found = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype)
    for weights in layers:
        joined = weights.mean(0) if heads == "mean" else weights.amax(0)
        mixed = 0.5 * joined + 0.5 * torch.eye(joined.shape[-1], dtype=joined.dtype)
        found = mixed / mixed.sum(-1, keepdim=True) @ found
    return found
