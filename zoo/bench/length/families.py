"""The families that `zoo bench length` compares: a model of each, and the layer that mixes its tokens."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from zoo.core import Attention, Causal, Kernel, Tokens, Window
from zoo.core.cache.state import State
from zoo.core.mechanisms.recurrence.delta import DeltaAttention
from zoo.core.mechanisms.recurrence.retention import Retention
from zoo.core.mechanisms.recurrence.state_space import StateSpaceAttention
from zoo.core.ops.recurrence.forms import CHUNK
from zoo.spec import Kind

HEADS = 4
WINDOW = 8
"""Tokens that local attention reads on each side."""
KERNEL = 3

Step = Callable[[Tensor], Tensor]
"""Decodes one more token, a vector (1, 1, dim), behind those before."""


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

        def step(token: Tensor) -> Tensor:
            nonlocal state
            y, state = self.rnn(token, state)
            return y

        return step


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
        operations: of that layer as in arXiv:1706.03762 table 1, for n tokens, a kernel of k, a window of r, chunks of
            c tokens and h heads.
        growth: those of n tokens and d channels, up to a factor.
        form: what a whole sequence is computed by.
        options: of the model.
        kind: which colours a figure takes.
    """

    model: str
    mixer: Callable[[int], nn.Module]
    operations: str
    growth: Callable[[int, int], float]
    form: str
    options: Mapping[str, Any] = field(default_factory=dict)
    kind: Kind = "attention"


def _attention(name: str, **more: Any) -> dict[str, Any]:
    return {"attention": name, "position": "sinusoidal", "dropout": 0.0, **more}


def _recurrence(name: str, made: type[Attention], **more: Any) -> Family:
    """Describe a linear recurrence, computed by chunks."""
    return Family(
        "bert-micro", partial(AttentionMixer, made), "n(c + d/h)d", lambda n, d: n * (CHUNK + d / HEADS) * d,
        f"chunks of {CHUNK}", _attention(name, **more), "hybrid",
    )  # fmt: skip


GATED = 96
"""Channels of the MLP beside a mechanism with a gate, for the same number of parameters."""

FAMILIES = {
    "full attention": Family(
        "bert-micro", partial(AttentionMixer, Attention), "n²d", lambda n, d: n * n * d, "all pairs", _attention("full")
    ),
    f"window of {WINDOW}": Family(
        "bert-micro", partial(AttentionMixer, partial(Attention, pattern=Window(WINDOW))), "rnd", lambda n, d: n * d,
        "pairs of the window", _attention(f"window:{WINDOW}"),
    ),
    "linear attention": Family(
        "bert-micro", partial(AttentionMixer, partial(Attention, norm=Kernel())), "nd²", lambda n, d: n * d * d,
        "sums over all", _attention("linear"),
    ),
    "retention": _recurrence("retention", Retention, mlp_dim=GATED),
    "SSD": _recurrence("ssd", StateSpaceAttention, mlp_dim=GATED),
    "delta rule": _recurrence("delta", DeltaAttention),
    "LSTM": Family(
        "lstm-micro", partial(RecurrentMixer, nn.LSTM), "nd²", lambda n, d: n * d * d, "one step after another",
        kind="recurrent",
    ),
    "GRU": Family(
        "gru-micro", partial(RecurrentMixer, nn.GRU), "nd²", lambda n, d: n * d * d, "one step after another",
        kind="recurrent",
    ),
    "dilated convolution": Family(
        "dilated-cnn-micro", ConvolutionMixer, "knd²", lambda n, d: n * d * d, "all places", kind="convolution"
    ),
}  # fmt: skip
"""Name in reports to what it stands for; the paper's table has neither linear attention nor recurrences of chunks."""


def draw_vectors(length: int, dim: int, seed: int = 0) -> Tensor:
    """Draw the vectors of one sequence (1, n, d)."""
    return torch.randn(1, length, dim, generator=torch.Generator().manual_seed(seed))
