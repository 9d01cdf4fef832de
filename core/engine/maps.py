"""Attention weights at any length, a block of queries at a time, so that the square never stands in memory."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from zoo.core.engine.dispatch import attend
from zoo.core.errors import ConfigError
from zoo.core.patterns.padding import Keys, Segments
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.scoring.bias import Bias, Dense
from zoo.core.scoring.normalizers import Norm
from zoo.core.scoring.scores import Score


@torch.no_grad()
def weight_blocks(
    q: Float[Tensor, "b q h d"],
    k: Float[Tensor, "b k g d"],
    pattern: Pattern = Full(),
    keys: Keys | None = None,
    bias: Float[Tensor, "#b #h #q #k"] | Bias | None = None,
    score: str | Score = "scaled_dot",
    norm: Norm = "softmax",
    *,
    size: int = 256,
) -> Iterator[Float[Tensor, "b h n k"]]:
    """Give the weights that `attend` uses, for so many queries at a time.

    Args:
        q: queries, the first at position 0.
        k: keys.
        pattern: as for `attend`.
        keys: as for `attend`.
        bias: as for `attend`.
        score: as for `attend`.
        norm: as for `attend`.
        size: queries in a block.

    Raises:
        ConfigError: If the size is not positive.
    """
    if size < 1:
        raise ConfigError(f"size={size}: a block has at least one query")
    pattern.fit(q.shape[1], k.shape[1])
    bias = Dense(bias) if isinstance(bias, Tensor) else bias
    for first in range(0, q.shape[1], size):
        last = min(first + size, q.shape[1])
        part, there = bias, keys
        if isinstance(bias, Dense) and bias.added.shape[2] > 1:
            part = Dense(bias.added[:, :, first:last])
        if isinstance(keys, Segments):
            there = Segments(keys.ids, keys.of_queries(q.shape[1])[:, first:last])
        given = {"bias": part, "score": score, "norm": norm, "q_start": first, "whole": False}
        yield attend(q[:, first:last], k, k[..., :1], pattern, there, return_weights=True, **given)[1]  # type: ignore[call-overload]
