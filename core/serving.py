"""A model that only answers: a copy in evaluation that shares the weights, with matrices laid out for few rows.

A step of a stream multiplies a few rows with every matrix of the model. `x @ weight.T` then spends its time on turning
the matrix; laid out once, (144 to 576 channels, 4 rows) took 7 us, not 20, and 64 in bfloat16 where that is emulated.
"""

from copy import copy
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from zoo.core.linear import Linear, fast_bfloat16

Part = TypeVar("Part", bound=nn.Module)


class LaidOut(nn.Module):
    """Multiply by the weights that a linear layer had when this was made.

    Args:
        layer: on a CPU; in bfloat16 it multiplies in float32 where that is faster.
    """

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.training = False
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight, self.bias = layer.weight, layer.bias
        self.inside = computed(layer.weight.dtype)
        self.matrix = layer.weight.detach().to(self.inside).T.contiguous().T
        self.added = None if layer.bias is None else layer.bias.detach().to(self.inside)

    def forward(self, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n e"]:
        """Give `x @ weight.T + bias`."""
        if x.dtype is self.inside:
            return linear(x, self.matrix, self.added)
        return linear(x.to(self.inside), self.matrix, self.added).to(x.dtype)


def computed(dtype: torch.dtype) -> torch.dtype:
    """Give the dtype in which a CPU computes what is stored in this one: float32 where bfloat16 is emulated."""
    return torch.float32 if dtype is torch.bfloat16 and not fast_bfloat16() else dtype


def serving(part: Part) -> Part:
    """Give a copy of a part of a model that only answers; the original is not touched, and weights are not copied.

    On a CPU the matrices of linear layers are: what is trained later does not reach them.

    Args:
        part: a module, with all inside it.
    """
    mine = copy(part)
    mine.training = False
    mine._modules = {name: None if inner is None else _inside(inner) for name, inner in part._modules.items()}
    return mine


def _inside(part: nn.Module) -> nn.Module:
    if type(part) is Linear and part.weight.is_cpu and part.weight.dtype is not torch.float16:
        return LaidOut(part)
    return serving(part)
