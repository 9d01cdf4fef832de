"""Activations of feed-forward networks, in place where no gradient can want what they overwrite."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


def gelu(x: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """Give the exact GELU (erf) of a temporary, in place where no gradient can want it: that spares memory traffic."""
    return nn.functional.gelu(x) if x.requires_grad or torch.compiler.is_compiling() else torch.ops.aten.gelu_(x)


def gelu_tanh(x: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """Give the GELU by its tanh formula (arXiv:1606.08415 sec. 2), in place as `gelu`."""
    if x.requires_grad or torch.compiler.is_compiling():
        return nn.functional.gelu(x, approximate="tanh")
    return torch.ops.aten.gelu_(x, approximate="tanh")


def relu(x: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """ReLU, in place as `gelu`."""
    return nn.functional.relu(x, inplace=not (x.requires_grad or torch.compiler.is_compiling()))


def silu(x: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """Give x * sigmoid(x), also called swish (arXiv:1702.03118), in place as `gelu`."""
    return nn.functional.silu(x, inplace=not (x.requires_grad or torch.compiler.is_compiling()))
