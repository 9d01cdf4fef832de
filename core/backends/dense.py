"""Every score at once: PyTorch's fused kernel, or plain products where those are faster."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from zoo.core.backends.problem import Call, Cost, Problem
from zoo.core.pattern import Causal


class Dense:
    """Compute attention over all pairs with `scaled_dot_product_attention`."""

    name = "dense"

    def refuses(self, problem: Problem) -> str | None:
        """See `Backend.refuses`."""
        return "it keeps no weights" if problem.weights else None

    def cost(self, problem: Problem) -> Cost:
        """See `Backend.cost`."""
        p = problem
        pairs = p.batch * p.heads * p.queries * p.keys
        size = torch.finfo(p.dtype).bits // 8
        vectors = p.batch * (p.heads * p.queries + p.heads * p.keys) * (p.head_dim + p.value_dim)
        return Cost(2 * pairs * (p.head_dim + p.value_dim), size * vectors, "computes every pair in one fused kernel")

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """See `Backend.run`."""
        square = call.q.shape[2] == call.k.shape[2] and call.start == 0 and call.valid is None and call.bias is None
        causal = square and call.pattern == Causal()
        y = scaled_dot_product_attention(
            call.q,
            call.k,
            call.v,
            attn_mask=None if causal else additive(call),
            dropout_p=call.dropout,
            is_causal=causal,
            scale=call.scale,
            enable_gqa=call.q.shape[1] != call.k.shape[1],
        )
        return y, None


def additive(call: Call) -> Tensor | None:
    """Join mask and bias into what the kernel takes: None, a boolean mask, or a bias with -inf."""
    mask = call.mask()
    if call.bias is None:
        return mask
    return call.bias if mask is None else call.bias.masked_fill(~mask, float("-inf"))


BACKEND = Dense()
