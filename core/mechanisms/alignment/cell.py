"""`RecurrentCell`: layers of PyTorch's LSTM or GRU, whose state is one tensor with the batch first.

Axes: b rows, m steps, s parts of a state (two of an LSTM: output and cell), l layers, d channels.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.errors import ConfigError

CELLS: dict[str, type[nn.LSTM] | type[nn.GRU]] = {"lstm": nn.LSTM, "gru": nn.GRU}


class RecurrentCell(nn.Module):
    """Layers of LSTM (Hochreiter and Schmidhuber 1997) or GRU (arXiv:1406.1078) that read step by step or many at once.

    The forget gate of an LSTM begins open, with a bias of 1 (Jozefowicz et al. 2015).

    Args:
        kind: one of `CELLS`.
        input_dim: channels that are read.
        dim: channels of the state.
        depth: layers.
        dropout: probability in [0, 1), between layers.

    Raises:
        ConfigError: If there is no such cell, or no layer.
    """

    def __init__(self, kind: str, input_dim: int, dim: int, depth: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        if kind not in CELLS:
            raise ConfigError(f"cell={kind!r} is not one of {', '.join(CELLS)}")
        if depth < 1:
            raise ConfigError(f"depth={depth}: at least one layer")
        between = dropout if depth > 1 else 0.0
        self.rnn = CELLS[kind](input_dim, dim, depth, batch_first=True, dropout=between)
        self.shape = (2 if kind == "lstm" else 1, depth, dim)
        open_forget_gates(self.rnn)

    def forward(
        self, x: Float[Tensor, "b m i"], state: Float[Tensor, "b s l d"]
    ) -> tuple[Float[Tensor, "b m d"], Float[Tensor, "b s l d"]]:
        """Read vectors behind a state; give the last layer's output for each, and the state after them."""
        parts = tuple(part.contiguous() for part in state.permute(1, 2, 0, 3))
        y, after = self.rnn(x, parts if len(parts) == 2 else parts[0])
        return y, torch.stack(after if len(parts) == 2 else (after,)).permute(2, 0, 1, 3)


def open_forget_gates(rnn: nn.LSTM | nn.GRU) -> None:
    """Set the biases of an LSTM's forget gates, the second of four, to 1; a GRU has none."""
    if isinstance(rnn, nn.LSTM):
        for layer in range(rnn.num_layers):
            nn.init.ones_(rnn.get_parameter(f"bias_ih_l{layer}")[rnn.hidden_size : 2 * rnn.hidden_size].detach())


def output_of(state: Float[Tensor, "b s l d"]) -> Float[Tensor, "b d"]:
    """Give the last layer's output in a state."""
    return state[:, 0, -1]
