"""Retention, arXiv:2307.08621: each head forgets at a fixed rate of its own."""

import torch
from torch import Tensor, nn

from zoo.core.mechanisms.recurrence.layer import RecurrentAttention
from zoo.core.ops.recurrence.steps import Steps
from zoo.core.positions.attention_position import AttentionPosition


class Retention(RecurrentAttention):
    """Multi-scale retention, arXiv:2307.08621 sec. 2.3: S_t = γ_h S_{t-1} + k_t v_tᵀ with γ_h = 1 - 2^(-5-h).

    Each head is normed by its mean and variance ("group norm") and gated. The factors of sec. 2.3 that this norm
    cancels are left out: with them the three forms of the paper agree only up to the norm's epsilon
    (microsoft/torchscale #40). The rotation of xPos is `position="rotary"`; its growing factors are what γ does. The
    decay of eq. 7 of the paper's first version is wrong; the forms here are tested against each other.

    Args:
        dim: channels in and out.
        num_heads: heads.
        position: what positions do to queries and keys; None for nothing.
    """

    def __init__(self, dim: int, num_heads: int, *, position: AttentionPosition | None = None) -> None:
        super().__init__(dim, num_heads, head_norm=nn.LayerNorm, position=position)

    def steps(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Steps:
        """See `RecurrentAttention.steps`."""
        head = torch.arange(self.num_heads, dtype=v.dtype, device=v.device)
        decay = torch.log1p(-(2.0 ** (-5 - head)))
        return Steps(q, k, v, decay[:, None, None].expand(*v.shape[:-1], 1))


def retention() -> type[Retention]:
    """Give the attention factory of `attention="retention"`."""
    return Retention
