"""Gated linear attention (GLA), arXiv:2312.06635: each channel of the keys forgets at a rate that its token says."""

from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from zoo.core.mechanisms.recurrence.layer import RecurrentAttention
from zoo.core.ops.linear import Linear
from zoo.core.ops.recurrence.steps import Steps
from zoo.core.positions.attention_position import AttentionPosition
from zoo.core.scoring.normalizers import upcast

RANK, TEMPERATURE = 16, 16.0
"""Channels between the two layers that make the decays, and the root that is taken of them, sec. 4.4."""


class GatedLinearAttention(RecurrentAttention):
    """S_t = diag(α_t) S_{t-1} + k_t v_tᵀ with α_t = sigmoid(W₂ W₁ x_t + b)^(1/16), arXiv:2312.06635 sec. 4.4.

    Each head is normed by its mean and variance, and gated. Keys have as many channels as values, where the paper
    takes half as many.

    Args:
        dim: channels in and out.
        num_heads: heads.
        position: what positions do to queries and keys; None for nothing.
    """

    def __init__(self, dim: int, num_heads: int, *, position: AttentionPosition | None = None) -> None:
        super().__init__(dim, num_heads, head_norm=nn.LayerNorm, position=position)
        self.decay = nn.Sequential(Linear(dim, RANK, bias=False), Linear(RANK, self.inner))

    def steps(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Steps:
        """See `RecurrentAttention.steps`."""
        decay = logsigmoid(upcast(self.decay(x))) / TEMPERATURE
        return Steps(q, k, v, decay.unflatten(-1, (self.num_heads, -1)).transpose(1, 2))


def gla() -> type[GatedLinearAttention]:
    """Give the attention factory of `attention="gla"`."""
    return GatedLinearAttention
