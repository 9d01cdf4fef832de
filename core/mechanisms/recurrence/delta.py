"""The delta rule, arXiv:2406.06484, also gated, arXiv:2412.06464: a token overwrites what is stored under its key."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import silu

from zoo.core.mechanisms.abilities import Cost
from zoo.core.mechanisms.recurrence.layer import RecurrentAttention
from zoo.core.mechanisms.recurrence.state_space import StepSizes
from zoo.core.ops.linear import Linear
from zoo.core.ops.recurrence.forms import CHUNK
from zoo.core.ops.recurrence.steps import Steps
from zoo.core.positions.attention_position import AttentionPosition
from zoo.core.scoring.normalizers import upcast


class UnitSilu(nn.Module):
    """Give silu(x) / |silu(x)|, in float32: keys of a norm above 1 let the state grow without bound."""

    def forward(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d"]:
        """Give it for each vector; one that is almost 0 stays short, so that its gradient stays bounded."""
        x = silu(upcast(x))
        return x * (x.square().sum(-1, keepdim=True) + 1e-6).rsqrt()


class DeltaAttention(RecurrentAttention):
    """S_t = (I - β_t k_t k_tᵀ) S_{t-1} + β_t k_t v_tᵀ with β_t = sigmoid(w x_t), arXiv:2406.06484 sec. 2.2 and 3.3.

    Queries and keys are silu(x) / |silu(x)|. The paper's short convolutions are left out.

    Args:
        dim: channels in and out.
        num_heads: heads.
        gate: see `RecurrentAttention`.
        position: what positions do to queries and keys; None for nothing.
    """

    def __init__(
        self, dim: int, num_heads: int, *, gate: bool = False, position: AttentionPosition | None = None
    ) -> None:
        super().__init__(dim, num_heads, gate=gate, position=position)
        self.q_norm = self.k_norm = UnitSilu()
        self.rate = Linear(dim, num_heads, bias=False)

    def steps(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Steps:
        """See `RecurrentAttention.steps`."""
        return Steps(q, k, v, None, upcast(self.rate(x)).sigmoid().mT[..., None])

    def cost(self, length: int) -> Cost:
        """Count also the overlaps of keys, the triangular system of each chunk, and what was stored."""
        found, size = super().cost(length), min(length, CHUNK)
        d, e = self.head_dim, self.value_dim
        more = self.num_heads * length * (size * d + size * (d + e) // 2 + d * e)
        return Cost(found.multiply_adds + more, found.numbers + self.num_heads * length * (size + d + e))


class GatedDeltaAttention(DeltaAttention):
    """S_t = a_t (I - β_t k_t k_tᵀ) S_{t-1} + β_t k_t v_tᵀ, arXiv:2412.06464 sec. 3.1; a_t as in Mamba-2.

    With a_t = 1 it is the delta rule. Answers are gated.

    Args:
        dim: channels in and out.
        num_heads: heads.
        position: what positions do to queries and keys; None for nothing.
    """

    def __init__(self, dim: int, num_heads: int, *, position: AttentionPosition | None = None) -> None:
        super().__init__(dim, num_heads, gate=True, position=position)
        self.step_sizes = StepSizes(dim, num_heads)

    def steps(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Steps:
        """See `RecurrentAttention.steps`."""
        return super().steps(x, q, k, v)._replace(decay=self.step_sizes(x)[1])


def delta() -> type[DeltaAttention]:
    """Give the attention factory of `attention="delta"`."""
    return DeltaAttention


def gated_delta() -> type[GatedDeltaAttention]:
    """Give the attention factory of `attention="gated-delta"`."""
    return GatedDeltaAttention
