"""State space duality (SSD), the attention of Mamba-2, arXiv:2405.21060: each head forgets as much as its token says.

Axes: b rows, n tokens, h heads.
"""

from math import log

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from zoo.core.mechanisms.recurrence.layer import RecurrentAttention
from zoo.core.ops.linear import Linear
from zoo.core.ops.recurrence.steps import Steps
from zoo.core.positions.attention_position import AttentionPosition
from zoo.core.scoring.normalizers import upcast

SHORTEST, LONGEST, SLOWEST, FASTEST = 1e-3, 1e-1, 1.0, 16.0
"""Ranges from which step sizes and rates are drawn at first, as the paper's code does."""


class StepSizes(nn.Module):
    """Learn the step Δ_t = softplus(w x_t + b) of each head, and its decay exp(-Δ_t exp(a)) (arXiv:2312.00752 alg. 2).

    Args:
        dim: channels of the tokens.
        num_heads: heads.
    """

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        self.linear = Linear(dim, num_heads, bias=False)
        first = torch.empty(num_heads).uniform_(log(SHORTEST), log(LONGEST)).exp()
        self.bias = nn.Parameter(first + (-torch.expm1(-first)).log())  # softplus gives `first` of it
        self.log_rate = nn.Parameter(torch.empty(num_heads).uniform_(SLOWEST, FASTEST).log())

    def forward(self, x: Float[Tensor, "b n dim"]) -> tuple[Float[Tensor, "b h n 1"], Float[Tensor, "b h n 1"]]:
        """Give the steps, and the logarithms of the decays."""
        step = softplus(upcast(self.linear(x)) + upcast(self.bias)).mT[..., None]
        return step, -step * upcast(self.log_rate).exp()[:, None, None]


class StateSpaceAttention(RecurrentAttention):
    """S_t = a_t S_{t-1} + Δ_t k_t v_tᵀ with a_t = exp(-Δ_t exp(a)), arXiv:2405.21060 sec. 3.2 and 7.1.

    Queries, keys and values are the paper's C, B and X. Its short convolution and its skip connection inside of a head
    are left out, and every head has keys of its own: the layer differs from the others here by its decay alone.

    Args:
        dim: channels in and out.
        num_heads: heads.
        position: what positions do to queries and keys; None for nothing.
    """

    def __init__(self, dim: int, num_heads: int, *, position: AttentionPosition | None = None) -> None:
        super().__init__(dim, num_heads, position=position)
        self.step_sizes = StepSizes(dim, num_heads)

    def steps(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Steps:
        """See `RecurrentAttention.steps`."""
        step, decay = self.step_sizes(x)
        return Steps(q, k, step * v, decay)


def ssd() -> type[StateSpaceAttention]:
    """Give the attention factory of `attention="ssd"`."""
    return StateSpaceAttention
