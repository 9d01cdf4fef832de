"""Linear attention, a kernel in place of the softmax, arXiv:2006.16236; causal, its state has a constant size.

Positions turn queries and keys (`rotary`) or are added to the tokens: there are no scores for a bias.
"""

from typing import Any, ClassVar

from zoo.core.layers.attention import Attention
from zoo.core.mechanisms.abilities import Abilities, Cost
from zoo.core.ops.recurrence.forms import CHUNK
from zoo.core.scoring.normalizers import Kernel


class LinearAttention(Attention):
    """An `Attention` whose norm is a `Kernel`, arXiv:2006.16236.

    Causal, it is the recurrence S_t = S_{t-1} + phi(k_t) v_tᵀ, divided by the sum of weights; not causal, every query
    reads one sum over all keys.

    Args:
        dim: channels in and out.
        num_heads: heads.
        options: as for `Attention`, but for `norm`.
    """

    abilities: ClassVar[Abilities] = Abilities(
        causal=True, padding_exact=True, any_length=True, streams=True, weights=True
    )

    def __init__(self, dim: int, num_heads: int, **options: Any) -> None:
        super().__init__(dim, num_heads, norm=Kernel(), **options)

    def cost(self, length: int) -> Cost:
        """Count the causal form, by chunks; the other has no pairs inside of chunks."""
        size, d, e = min(length, CHUNK), self.head_dim, self.value_dim + 1
        each = size * (d + e) + 2 * d * e
        return Cost(self.num_heads * length * each, self.num_heads * (length * size + -(-length // CHUNK) * d * e))


def linear_attention() -> type[LinearAttention]:
    """Give the attention factory of `attention="linear"`."""
    return LinearAttention
