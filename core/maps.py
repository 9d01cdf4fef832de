"""Attention weights at any length, a block of queries at a time, so that the square never stands in memory."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from zoo.core.bias import Bias
from zoo.core.dispatch import attend
from zoo.core.keys import Keys, Segments
from zoo.core.pattern import Full, Pattern
from zoo.core.score import Score


@torch.no_grad()
def weight_blocks(
    q: Float[Tensor, "b q h d"],
    k: Float[Tensor, "b k g d"],
    pattern: Pattern = Full(),
    keys: Keys | None = None,
    bias: Float[Tensor, "#b #h #q #k"] | Bias | None = None,
    score: str | Score = "scaled_dot",
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
        size: queries in a block.
    """
    for first in range(0, q.shape[1], size):
        last = min(first + size, q.shape[1])
        part, there = bias, keys
        if isinstance(bias, Tensor) and bias.shape[2] > 1:
            part = bias[:, :, first:last]
        if isinstance(keys, Segments):
            there = Segments(keys.ids, keys.of_queries(q.shape[1])[:, first:last])
        given = {"bias": part, "score": score, "q_start": first}
        yield attend(q[:, first:last], k, k[..., :1], pattern, there, return_weights=True, **given)[1]  # type: ignore[call-overload]
