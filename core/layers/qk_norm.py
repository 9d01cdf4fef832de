"""QK norm: attention whose queries and keys are normed head by head, arXiv:2010.04245."""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.layers.attention import Attention
from zoo.core.tokens import Tokens


class NormedAttention(Attention):
    """Attention whose queries and keys are normed head by head, arXiv:2010.04245 and arXiv:2302.05442 sec. 2.

    Scores cannot grow with the vectors, so higher learning rates are stable, and narrow models find their attention
    in fewer steps.

    Args:
        dim: channels in and out.
        num_heads: heads.
        options: as for `Attention`.
    """

    def __init__(self, dim: int, num_heads: int, **options: Any) -> None:
        super().__init__(dim, num_heads, **options)
        self.q_norm = nn.LayerNorm(self.head_dim, eps=1e-6)
        self.k_norm = nn.LayerNorm(self.head_dim, eps=1e-6)

    def project(self, tokens: Tokens, context: Tokens | None) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values, each (batch, length, heads, head_dim)."""
        q, k, v = super().project(tokens, context)
        return self.q_norm(q).to(v.dtype), self.k_norm(k).to(v.dtype), v  # autocast norms in float32

    def queries(self, tokens: Tokens) -> Float[Tensor, "b n h d"]:
        """Make queries alone."""
        q = super().queries(tokens)
        return self.q_norm(q).to(q.dtype)


def normed() -> type[NormedAttention]:
    """Give `NormedAttention`, for `attention="qk-norm"`."""
    return NormedAttention
