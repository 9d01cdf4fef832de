"""Recurrent encoders of text, of PyTorch's layers: LSTM and GRU; sizes are in `plugin.py`."""

from dataclasses import dataclass

import torch
from torch import nn

from zoo.core import (
    CELLS,
    ConfigError,
    Model,
    Stack,
    TokenEmbed,
    Tokens,
    configured,
    front_order,
    front_places,
    head,
    open_forget_gates,
    vectors_at,
)


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig:
    """Sizes and options of `Recurrent`.

    Args:
        vocab_size: tokens there are.
        dim: channels of a token and of the state.
        depth: layers.
        cell: one of `CELLS`.
        num_classes: labels of `classify`, `multi-label` and `tag`; 0 for features.
        task: `classify`, `multi-label` (both from the mean), `tag` or `features`.
        dropout: probability in [0, 1), behind each layer.
    """

    vocab_size: int = 260
    dim: int = 64
    depth: int = 2
    cell: str = "lstm"
    num_classes: int = 0
    task: str = "classify"
    dropout: float = 0.0


class RecurrentBlock(nn.Module):
    """A layer of PyTorch's LSTM or GRU that reads a text from its front; what is not there changes no state.

    Args:
        cell: `nn.LSTM` or `nn.GRU`.
        dim: channels of a token and of the state.
        dropout: probability in [0, 1), of the output.
    """

    def __init__(self, cell: type[nn.LSTM] | type[nn.GRU], dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.rnn = cell(dim, dim, batch_first=True)
        open_forget_gates(self.rnn)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tokens) -> Tokens:
        """Give the same text with the state after each token in its place."""
        valid = tokens.valid()
        if valid is None:
            return tokens.with_x(self.dropout(self.rnn(tokens.x)[0]))
        front = vectors_at(tokens.without_padding().x, front_order(valid))
        states = vectors_at(self.rnn(front)[0], front_places(valid))
        return tokens.with_x(self.dropout(states)).without_padding()


class Recurrent(Model):
    """Layers of LSTM (Hochreiter and Schmidhuber 1997) or GRU (arXiv:1406.1078), each reading a text from its front.

    The forget gate of an LSTM begins open, with a bias of 1 (Jozefowicz et al. 2015).

    Args:
        config: its fields are the keywords, see `RecurrentConfig`.

    Raises:
        ConfigError: If there is no such cell, or no layer.
    """

    @configured(RecurrentConfig)
    def __init__(self, config: RecurrentConfig) -> None:
        if config.cell not in CELLS:
            raise ConfigError(f"cell={config.cell!r} is not one of {', '.join(CELLS)}")
        if config.depth < 1:
            raise ConfigError(f"depth={config.depth}: at least one layer")
        stem = TokenEmbed(config.vocab_size, config.dim, position="none")
        blocks = [RecurrentBlock(CELLS[config.cell], config.dim, config.dropout) for _ in range(config.depth)]
        super().__init__(stem, Stack(blocks), head(config.task, config.dim, config.num_classes, pool="mean"))


class BidirectionalBlock(nn.Module):
    """Two layers of LSTM or GRU side by side, from the front and from the end: arXiv:1409.0473 sec. 3.2.

    Each has half of the channels. What is not there changes no state.

    Args:
        cell: `nn.LSTM` or `nn.GRU`.
        dim: channels of a token, and of both states together.
        dropout: probability in [0, 1), of the output.

    Raises:
        ConfigError: If the channels cannot be halved.
    """

    def __init__(self, cell: type[nn.LSTM] | type[nn.GRU], dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        if dim % 2:
            raise ConfigError(f"dim={dim} of a bidirectional encoder is not a multiple of 2")
        rnns = [cell(dim, dim // 2, batch_first=True) for _ in range(2)]
        for rnn in rnns:
            open_forget_gates(rnn)
        self.rnns = nn.ModuleList(rnns)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tokens) -> Tokens:
        """Give the same text with both states of each token in its place."""
        x, valid = tokens.without_padding().x, tokens.valid()
        if valid is None:
            valid = torch.ones_like(x[..., 0], dtype=torch.bool)
        front = vectors_at(x, front_order(valid))
        places = torch.arange(x.shape[1], device=x.device)
        mirrored = valid.sum(1, keepdim=True) - 1 - places
        mirrored = torch.where(mirrored >= 0, mirrored, places)
        backwards = vectors_at(self.rnns[1](vectors_at(front, mirrored))[0], mirrored)
        states = torch.cat([self.rnns[0](front)[0], backwards], dim=-1)
        return tokens.with_x(self.dropout(vectors_at(states, front_places(valid)))).without_padding()
