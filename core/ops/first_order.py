"""Backward passes that are written by hand: all that needs more than first derivatives, one at a time, is refused.

PyTorch's `once_differentiable` raises in `.backward()` alone. It ties the gradients to nothing, so that
`torch.autograd.grad` finds no way from them to the inputs: second derivatives are None, or 0 in
`torch.autograd.functional`.
"""

from collections.abc import Callable
from functools import wraps

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.autograd.function import FunctionCtx

from zoo.core.errors import ConfigError

REFUSAL = (
    "this backward pass is written by hand and gives first derivatives only, without create_graph=True, vectorize=True "
    'and torch.func; attend(…, backend="reference") serves these'
)

Backward = Callable[[FunctionCtx, Tensor], tuple[Tensor | None, ...]]


def only_once(backward: Backward) -> Backward:
    """Refuse to compute gradients that are to be differentiated, or many at once.

    Raises:
        ConfigError: If the gradients are asked for with `create_graph=True` or `is_grads_batched=True`, or under a
            transform of `torch.func`.
    """

    @wraps(backward)
    def once(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled() or transforms_active() or torch._C._functorch.is_legacy_batchedtensor(grad):
            raise ConfigError(REFUSAL)
        return backward(ctx, grad)

    return once


def transforms_active() -> bool:
    """Tell whether a transform of `torch.func`, such as `grad` or `vmap`, or forward-mode autograd is at work."""
    if torch.compiler.is_compiling():
        return False
    return bool(torch._C._are_functorch_transforms_active()) or forward_ad._current_level >= 0
