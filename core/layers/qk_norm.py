"""QK norm: attention whose queries and keys are normed head by head, arXiv:2010.04245."""

from typing import Any

from torch import nn

from zoo.core.layers.attention import Attention


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
        self.q_norm, self.k_norm = (nn.LayerNorm(self.head_dim, eps=1e-6) for _ in range(2))


def normed() -> type[NormedAttention]:
    """Give `NormedAttention`, for `attention="qk-norm"`."""
    return NormedAttention
