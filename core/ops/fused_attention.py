"""PyTorch's fused attention, `scaled_dot_product_attention`, with all its derivatives."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from zoo.core.errors import ConfigError
from zoo.core.ops.first_order import REFUSAL, transforms_active

_KERNEL = "ScaledDotProduct"
"""How the names of the kernels' nodes in the graph begin."""


def fused_attention(
    q: Float[Tensor, "b h q d"],
    k: Float[Tensor, "b g k d"],
    v: Float[Tensor, "b g k e"],
    mask: Tensor | None = None,
    *,
    dropout: float = 0.0,
    causal: bool = False,
    scale: float | None = None,
) -> Float[Tensor, "b h q e"]:
    """Compute attention by PyTorch's fastest kernel.

    The kernels give first derivatives only, and are not for transforms of `torch.func` and forward-mode autograd. So
    transforms get PyTorch's formula in products, and so do, on a CPU, gradients that are to be differentiated.

    Half precision that needs gradients is computed in float32 on a CPU without AMX: bfloat16, forward and backward, one
    thread of an Intel Xeon, takes 53 ms at causal (4, 12 heads, 229, 16) and 16 so, 51 and 23 at (1, 4 heads, 800, 64).

    Args:
        q: queries.
        k: keys, of as many heads as the queries or of a divisor.
        v: values.
        mask: which pairs attend, or what is added to their scores.
        dropout: share of weights that become 0.
        causal: whether query i attends to the keys up to i alone.
        scale: factor of the scores, 1/√d by default.

    Raises:
        ConfigError: In the backward pass, if gradients of a kernel of an accelerator are to be differentiated.
    """
    if transforms_active():
        return _by_formula(q, k, v, mask, dropout, causal, scale)
    if _slow_in_half(q, k, v):
        with torch.autocast("cpu", enabled=False):
            precise = None if mask is None else mask if mask.dtype == torch.bool else mask.float()
            options: dict[str, Any] = {"dropout": dropout, "causal": causal, "scale": scale}
            return fused_attention(q.float(), k.float(), v.float(), precise, **options).to(v.dtype)
    y = scaled_dot_product_attention(q, k, v, mask, dropout, causal, scale=scale, enable_gqa=q.shape[1] != k.shape[1])
    if not torch.compiler.is_compiling() and y.grad_fn is not None and y.grad_fn.name().startswith(_KERNEL):
        y.grad_fn.register_hook(_differentiable)
    return y


def _slow_in_half(*tensors: Tensor) -> bool:
    """Tell whether the kernel's backward pass is slower in this precision than in float32."""
    half = tensors[0].device.type == "cpu" and tensors[0].dtype in (torch.bfloat16, torch.float16)
    if not half or torch.compiler.is_compiling() or not torch.is_grad_enabled():
        return False
    return any(x.requires_grad for x in tensors) and not torch.cpu.get_capabilities().get("amx_bf16")


def _by_formula(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float, causal: bool, scale: float | None
) -> Tensor:
    with sdpa_kernel(SDPBackend.MATH):
        return scaled_dot_product_attention(
            q, k, v, mask, dropout, causal, scale=scale, enable_gqa=q.shape[1] != k.shape[1]
        )


def _differentiable(gradients: tuple[Tensor | None, ...], given: tuple[Tensor, ...]) -> tuple[Tensor | None, ...]:
    """Give gradients that can be differentiated in place of a kernel's, where these are asked for."""
    if not torch.is_grad_enabled():
        return gradients
    node: Any = torch._C._current_autograd_node()  # the hook must not hold it: neither would ever be freed
    if not node.name().startswith(f"{_KERNEL}FlashAttentionForCpu"):
        raise ConfigError(REFUSAL)
    q, k, v = node._saved_query, node._saved_key, node._saved_value
    y = _by_formula(q, k, v, node._saved_attn_mask, 0.0, node._saved_is_causal, node._saved_scale)
    needed = [x for x, gradient in zip((q, k, v), gradients, strict=False) if gradient is not None]
    found = iter(torch.autograd.grad(y, needed, given[0], create_graph=True))
    return tuple(None if gradient is None else next(found) for gradient in gradients)
