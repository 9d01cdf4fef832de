"""The families that `zoo bench length` compares: a model of each, and the layer that mixes its tokens."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from zoo.core import Attention, Causal, Kernel, Tokens, Window
from zoo.core.cache.state import State

HEADS = 4
WINDOW = 8
"""Tokens that local attention reads on each side."""
KERNEL = 3

Step = Callable[[Tensor], object]
"""Decodes one more token: a vector (1, 1, dim)."""


class AttentionMixer(nn.Module):
    """An attention layer without the rest of its block, vectors to vectors; decodes with a cache.

    Args:
        make: the layer, from (dim, heads).
        dim: channels.
    """

    def __init__(self, make: Callable[[int, int], Attention], dim: int) -> None:
        super().__init__()
        self.attention = make(dim, HEADS)

    def forward(self, x: Tensor) -> Tensor:
        """Give a vector for each token."""
        return self.attention(Tokens(x))

    def decoder(self, x: Tensor) -> Step:
        """Read tokens, and give what decodes the next."""
        state: State = self.attention.state(len(x), Causal(), capacity=x.shape[1] + 64)
        self.attention(Tokens(x, Causal()), state=state)
        return lambda token: self.attention(Tokens(token, Causal()), state=state)


class RecurrentMixer(nn.Module):
    """A layer of PyTorch's LSTM or GRU, vectors to vectors; decodes from its last state.

    Args:
        cell: `nn.LSTM` or `nn.GRU`.
        dim: channels.
    """

    def __init__(self, cell: type[nn.LSTM] | type[nn.GRU], dim: int) -> None:
        super().__init__()
        self.rnn = cell(dim, dim, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Give a vector for each token."""
        return self.rnn(x)[0]

    def decoder(self, x: Tensor) -> Step:
        """Read tokens, and give what decodes the next."""
        state = self.rnn(x)[1]
        return lambda token: self.rnn(token, state)


class ConvolutionMixer(nn.Module):
    """A convolution over `KERNEL` tokens, vectors to vectors.

    Args:
        dim: channels.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(dim, dim, KERNEL, padding="same")

    def forward(self, x: Tensor) -> Tensor:
        """Give a vector for each token."""
        return self.conv(x.mT).mT


@dataclass(frozen=True)
class Family:
    """Describe one family.

    Args:
        model: name of a small one, all of about the same number of parameters.
        mixer: makes the layer that mixes tokens, from its channels d.
        operations: of that layer in arXiv:1706.03762 table 1, for n tokens, a kernel of k and a window of r.
        exponents: of n and d there.
        options: of the model.
    """

    model: str
    mixer: Callable[[int], nn.Module]
    operations: str
    exponents: tuple[int, int]
    options: Mapping[str, Any] = field(default_factory=dict)


def _attention(name: str) -> dict[str, Any]:
    return {"attention": name, "position": "sinusoidal", "dropout": 0.0}


FAMILIES = {
    "full attention": Family(
        "bert-micro", partial(AttentionMixer, Attention), "n²d", (2, 1), _attention("full")
    ),
    f"window of {WINDOW}": Family(
        "bert-micro", partial(AttentionMixer, partial(Attention, pattern=Window(WINDOW))), "rnd", (1, 1),
        _attention(f"window:{WINDOW}"),
    ),
    "linear attention": Family(
        "bert-micro", partial(AttentionMixer, partial(Attention, norm=Kernel())), "nd²", (1, 2), _attention("linear")
    ),
    "LSTM": Family("lstm-micro", partial(RecurrentMixer, nn.LSTM), "nd²", (1, 2)),
    "GRU": Family("gru-micro", partial(RecurrentMixer, nn.GRU), "nd²", (1, 2)),
    "dilated convolution": Family("dilated-cnn-micro", ConvolutionMixer, "knd²", (1, 2)),
}  # fmt: skip
"""Name in reports to what it stands for; linear attention (arXiv:2006.16236) is not in the paper's table."""


def draw_vectors(length: int, dim: int, seed: int = 0) -> Tensor:
    """Draw the vectors of one sequence (1, n, d)."""
    return torch.randn(1, length, dim, generator=torch.Generator().manual_seed(seed))
