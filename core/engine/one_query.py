"""One query that reads all keys, as in each step of decoding: a plan for it would take longer than computing it."""

import torch
from jaxtyping import Float
from torch import Tensor

from zoo.core.engine import tracing
from zoo.core.ops.first_order import transforms_active
from zoo.core.ops.fused_attention import fused_attention


def serves(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Tell whether `attend_to_all` gives what the planner's choice would, which is `dense` then."""
    return (
        q.ndim == k.ndim == v.ndim == 4
        and q.shape[1] == 1
        and q.is_cpu
        and min(q.numel(), k.numel(), v.numel()) > 0
        and not (torch.is_grad_enabled() or torch.compiler.is_compiling() or tracing.watched() or transforms_active())
    )


def attend_to_all(
    q: Float[Tensor, "b 1 h d"], k: Float[Tensor, "b k g d"], v: Float[Tensor, "b k g e"]
) -> Float[Tensor, "b 1 h e"]:
    """Attend by PyTorch's kernel, without mask and bias."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return fused_attention(q, k, v).transpose(1, 2).to(v.dtype)
