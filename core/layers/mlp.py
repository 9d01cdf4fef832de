"""Feed-forward networks and their activations."""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.errors import ConfigError
from zoo.core.ops.linear import Linear
from zoo.core.streaming.stages import Pointwise


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


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": relu, "gelu": gelu, "gelu-tanh": gelu_tanh, "silu": silu}
"""What may stand between the layers of an `Mlp`, by name."""


def mlp_with(name: str) -> Callable[[int, int, float], "Mlp"]:
    """Make a factory of `Mlp` with this activation, called with `(dim, mlp_dim, dropout)`.

    Raises:
        ConfigError: If the name is not one of `ACTIVATIONS`.
    """
    if name not in ACTIVATIONS:
        raise ConfigError(f"activation={name!r} is not one of {', '.join(ACTIVATIONS)}")
    return partial(Mlp, activation=ACTIVATIONS[name])


class Mlp(nn.Module):
    """Two linear layers with an activation between.

    Args:
        dim: channels in and out.
        mlp_dim: channels between.
        dropout: probability in [0, 1), after each layer.
        activation: between the layers; it may overwrite what it is given.
    """

    def __init__(
        self, dim: int, mlp_dim: int, dropout: float = 0.0, activation: Callable[[Tensor], Tensor] = gelu
    ) -> None:
        super().__init__()
        self.up = Linear(dim, mlp_dim)
        self.activation = activation
        self.down = Linear(mlp_dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        """Apply to each vector alone."""
        if not self.training:
            return self.down(self.activation(self.up(x)))
        return self.dropout(self.down(self.dropout(self.activation(self.up(x)))))

    def stream(self) -> Pointwise:
        """Give the stage that does the same while vectors come."""
        return Pointwise(self)
