"""`serving`: a copy of a model for inference that shares the weights, with matrices laid out for few rows.

1. A step of a stream multiplies a few rows with every matrix of the model. `x @ weight.T` then spends its time on
   turning the matrix; laid out once, (144 to 576 channels, 4 rows) took 7 us, not 20.
2. Where a CPU emulates bfloat16, weights in bfloat16 are turned to float32 once, and nothing is converted in a step.
"""

from copy import copy
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from zoo.core.ops.bfloat16 import fast_bfloat16
from zoo.core.ops.linear import Linear

Part = TypeVar("Part", bound=nn.Module)


class LaidOut(nn.Module):
    """Multiply by the weights that a linear layer had when this was made.

    Args:
        layer: on a CPU; one in bfloat16 becomes one in float32 where that is faster.
    """

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.training = False
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight, self.bias = computed(layer.weight), None if layer.bias is None else computed(layer.bias)
        self.matrix = self.weight.detach().T.contiguous().T

    def forward(self, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n e"]:
        """Give `x @ weight.T + bias`."""
        return linear(x, self.matrix, self.bias)


def computed(x: Tensor) -> Tensor:
    """Give weights in the dtype in which a CPU computes them: in float32 where bfloat16 is emulated."""
    if x.dtype is not torch.bfloat16 or not x.is_cpu or fast_bfloat16():
        return x
    return nn.Parameter(x.detach().float(), requires_grad=False) if isinstance(x, nn.Parameter) else x.float()


def serving(part: Part) -> Part:
    """Give a copy of a part of a model that only answers; the original is not touched.

    Weights are shared, but those that are `computed` in another dtype, and on a CPU the matrices of linear layers: what
    is trained later does not reach these.

    Args:
        part: a module, with all inside it.
    """
    mine = copy(part)
    mine.training = False
    mine._modules = {name: None if inner is None else _inside(inner) for name, inner in part._modules.items()}
    mine._parameters = {name: None if x is None else computed(x) for name, x in part._parameters.items()}  # type: ignore[misc]
    mine._buffers = {name: None if x is None else computed(x) for name, x in part._buffers.items()}
    return mine


def _inside(part: nn.Module) -> nn.Module:
    if (
        type(part) is Linear
        and isinstance(part.weight, nn.Parameter)
        and part.weight.is_cpu
        and part.weight.dtype is not torch.float16
    ):
        return LaidOut(part)
    return serving(part)
