"""Losses and gradients of several models of one architecture in one pass, by `torch.func.vmap`."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

from zoo.data.corpus import Batch

Loss = Callable[[Any, Tensor], Tensor]
"""Answer of a model and target to the loss."""


def joint_losses(models: Sequence[nn.Module], batches: Sequence[Batch], loss: Loss) -> list[Float[Tensor, ""]]:
    """Give the loss of each model on its batch; `backward` of one gives its model gradients that are known already.

    Buffers, such as the running statistics of a batch norm, change as in a forward pass of each model. Random numbers,
    such as those of dropout, differ between the models and from those of a pass of one model alone.

    Args:
        models: of one architecture, on one device, in the same mode.
        batches: one for each model, of the same shapes.
        loss: of answer and target.

    Raises:
        RuntimeError: If shapes differ, or a model does something that has no batching rule, as reading a value; some
            parts of PyTorch raise other errors then.
    """
    weights, buffers = stack_module_state(list(models))
    inputs, targets = zip(*((batch.inputs, batch.target) for batch in batches), strict=True)
    frame = models[0]

    def single(own: dict[str, Tensor], kept: dict[str, Tensor], inputs: Sequence[Tensor], target: Tensor) -> Tensor:
        return loss(functional_call(frame, (own, kept), tuple(inputs)), target)

    stacked = [torch.stack(parts) for parts in zip(*inputs, strict=True)]
    joint = vmap(grad_and_value(single), randomness="different")
    with torch.no_grad(), warnings.catch_warnings():  # the gradients of these gradients are not wanted
        warnings.filterwarnings("ignore", "There is a performance drop")  # of adaptive pooling: channels-last images
        grads, values = joint(weights, buffers, stacked, torch.stack(targets))
    for name, every in buffers.items():
        for model, one in zip(models, every, strict=True):
            model.get_buffer(name).copy_(one)
    return [_of(model, i, values, grads) for i, model in enumerate(models)]


def _of(model: nn.Module, place: int, values: Tensor, grads: dict[str, Tensor]) -> Tensor:
    known = {name: x for name, x in model.named_parameters() if x.requires_grad}
    return _Known.apply(values[place], [grads[name][place] for name in known], *known.values())


class _Known(torch.autograd.Function):
    """A loss whose gradients have been computed."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, grads: list[Tensor], *weights: Tensor) -> Tensor:
        ctx.grads = grads
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *(grad[0] * known for known in ctx.grads)
