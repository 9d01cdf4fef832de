"""`Linear`: a linear layer that multiplies in the fastest way of the machine."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook

from zoo.core.ops.onednn import Activation
from zoo.core.ops.products import multiply


class Linear(nn.Linear):
    """A linear layer, multiplied as `zoo.core.ops.products` decides."""

    def forward(self, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n e"]:
        """Give `x @ weight.T + bias`."""
        return multiply(x, self.weight, self.bias)


def activated(layer: nn.Module, x: Float[Tensor, "*n d"], activation: Activation) -> Float[Tensor, "*n e"]:
    """Give `activation(layer(x))`, in one operation where the layer is a `Linear` that nobody watches by a hook."""
    if type(layer) is not Linear or _watched(layer):
        return activation(layer(x))
    return multiply(x, layer.weight, layer.bias, activation)


def _watched(layer: nn.Module) -> bool:
    own = layer._forward_hooks, layer._forward_pre_hooks, layer._backward_hooks, layer._backward_pre_hooks
    return any(map(len, own)) or bool(_has_any_global_hook())
