"""Feed-forward networks."""

from collections.abc import Callable
from functools import partial

from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.errors import ConfigError
from zoo.core.ops.activations import gelu, gelu_tanh, relu, silu
from zoo.core.ops.linear import Linear, activated
from zoo.core.streaming.stages import Pointwise

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
            return self.down(activated(self.up, x, self.activation))
        return self.dropout(self.down(self.dropout(activated(self.up, x, self.activation))))

    def stream(self) -> Pointwise:
        """Give the stage that does the same while vectors come."""
        return Pointwise(self)
