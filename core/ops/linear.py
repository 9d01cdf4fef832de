"""`Linear`: a linear layer that multiplies in the fastest way of the machine; and layers in other classes, likewise."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook

from zoo.core.ops import products
from zoo.core.ops.autocast import autocasts
from zoo.core.ops.onednn import Activation


class Linear(nn.Linear):
    """A linear layer, multiplied as `zoo.core.ops.products` decides.

    Args:
        in_features: channels of the vectors.
        out_features: channels of the answer.
        bias: whether each channel of the answer has a number that is added.
        device: of the weights.
        dtype: of the weights.

    Raises:
        ConfigError: If `ZOO_PRODUCTS` names no rule; compiled and int8 products would not ask for it.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        products.chosen()
        super().__init__(in_features, out_features, bias, device, dtype)

    def forward(self, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n e"]:
        """Give `x @ weight.T + bias`."""
        return products.multiply(x, self.weight, self.bias)


def activated(layer: nn.Module, x: Float[Tensor, "*n d"], activation: Activation) -> Float[Tensor, "*n e"]:
    """Give `activation(layer(x))`, in one operation where the layer is a `Linear` that nobody watches by a hook."""
    if type(layer) is not Linear or _watched(layer):
        return activation(layer(x))
    return products.multiply(x, layer.weight, layer.bias, activation)


def scores(layer: nn.Module, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n classes"]:
    """Give `layer(x)` of a classifier: PyTorch's own linear layer is multiplied by the rule, too.

    Under autocast it is called, since its answers have autocast's dtype.
    """
    if type(layer) is not nn.Linear or _watched(layer) or autocasts(x.device.type):
        answer: Tensor = layer(x)
        return answer
    return products.multiply(x, layer.weight, layer.bias)


def _watched(layer: nn.Module) -> bool:
    own = layer._forward_hooks, layer._forward_pre_hooks, layer._backward_hooks, layer._backward_pre_hooks
    return any(map(len, own)) or bool(_has_any_global_hook())
