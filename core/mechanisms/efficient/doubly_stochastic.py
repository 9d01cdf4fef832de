"""Sinkformer: attention whose rows and columns sum to 1 (arXiv:2110.11773).

Axes: b rows, n places, h heads, d and e channels of a head.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from zoo.core.mechanisms.abilities import Abilities, Cost
from zoo.core.mechanisms.efficient.self_attention import ProjectedAttention, whole_number


class DoublyStochastic(ProjectedAttention):
    """Sinkhorn's iteration on exp(Q Kᵀ / sqrt(d)), arXiv:2110.11773 sec. 3.1: rows and columns are normed in turn.

    One iteration is the softmax. It cannot be causal: of a lower triangular doubly stochastic matrix the first row has
    one entry, so it is 1; its column is then full, and so on: it is the identity, and no place reads another.

    Args:
        dim: channels in and out.
        num_heads: heads.
        iterations: norms of rows or columns; rows are first, so an odd number ends with rows.
        options: as for `SelfAttention`.
    """

    abilities: ClassVar[Abilities] = Abilities(
        causal=False, padding_exact=True, any_length=True, streams=False, weights=True
    )
    not_causal: ClassVar[str] = (
        "is doubly stochastic, and the only such matrix that is lower triangular is the identity"
    )

    def __init__(self, dim: int, num_heads: int, *, iterations: int = 5, **options: Any) -> None:
        super().__init__(dim, num_heads, **options)
        self.iterations = iterations

    def mix(
        self, parts: tuple[Float[Tensor, "b h n _"], ...], valid: Bool[Tensor, "b n"], causal: bool
    ) -> Float[Tensor, "b h n e"]:
        q, k, v = parts
        there = (valid[:, :, None] & valid[:, None])[:, None]
        return sinkhorn(q @ k.mT * self.head_dim**-0.5, there, self.iterations) @ v

    def cost(self, length: int) -> Cost:
        pairs = self.num_heads * length * length
        return Cost(pairs * (self.head_dim + self.value_dim), 2 * pairs)


def sinkhorn(
    scores: Float[Tensor, "*b n n"], there: Bool[Tensor, "*#b n n"], iterations: int
) -> Float[Tensor, "*b n n"]:
    """Norm rows and columns of exp(scores) in turn, in logarithms; what is not there is 0."""
    lowest = torch.finfo(scores.dtype).min / 4  # finite, so that sums over nothing have gradients
    scores = scores.masked_fill(~there, lowest)
    for step in range(iterations):
        scores = (scores - scores.logsumexp(-1 - step % 2, keepdim=True)).masked_fill(~there, lowest)
    return scores.exp()


def doubly_stochastic(iterations: str = "5") -> Callable[..., DoublyStochastic]:
    """Make what builds a `DoublyStochastic`, for `attention="doubly-stochastic"` and `...:ITERATIONS`."""
    return partial(DoublyStochastic, iterations=whole_number(iterations, "ITERATIONS"))
