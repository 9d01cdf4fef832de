"""`weight_blocks`: attention weights a block of queries at a time, so that they never stand in memory as a whole."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from zoo.core.engine.arguments import Arguments
from zoo.core.engine.dispatch import compute
from zoo.core.engine.preparation import prepare
from zoo.core.engine.validation import validate
from zoo.core.errors import ConfigError
from zoo.core.patterns.padding import Keys
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
    added = Dense(bias) if isinstance(bias, Tensor) else bias
    given = Arguments(q, k, k[..., :1], pattern, keys, added, score, norm=norm, return_weights=True)
    validate(given)
    whole = prepare(given)
    for first in range(0, q.shape[1], size):
        part = whole.queries(first, min(first + size, q.shape[1]))
        weights = compute(part, part.problem())[1]
        assert weights is not None
        yield weights
