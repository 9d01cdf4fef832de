"""`PointerNetwork`: the weights of a recurrent decoder are its answer, places of the input; arXiv:1506.03134.

Axes: b rows, m places that are pointed at, k vectors, d channels.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.mechanisms.alignment.alignment import Alignment
from zoo.core.mechanisms.alignment.attentive import PresentStateDecoder
from zoo.core.mechanisms.alignment.scores import ConcatScore
from zoo.core.tokens import Tokens, tokens_of


class PointingDecoder(PresentStateDecoder):
    """Answer with the state: the weights say what was pointed at, and nothing is made of what they read.

    Args:
        parts: see `AttentiveDecoder`.
        options: see `AttentiveDecoder`.
    """

    def __init__(self, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        del self.combine

    def answer(self, found: Float[Tensor, "b m d"], y: Float[Tensor, "b m d"]) -> Float[Tensor, "b m d"]:
        return y


class PointerNetwork(nn.Module):
    """Point at vectors of a set, one after the other: u_ij = vᵀ tanh(W1 e_j + W2 d_i), p = softmax(u), eq. 3.

    The decoder reads the vector that was pointed at before, and first one that is learned. Its first state is made of
    the mean, so that without an encoder, or with one that treats all places alike, another order of the input gives
    the same answer in that order.

    Args:
        cell: `lstm` or `gru`.
        dim: channels.
        depth: layers.
        encoder: `Tokens` to `Tokens`; the vectors themselves if None.
    """

    def __init__(self, cell: str, dim: int, depth: int = 1, *, encoder: nn.Module | None = None) -> None:
        super().__init__()
        self.encoder = nn.Identity() if encoder is None else encoder
        self.decoder = PointingDecoder(cell, dim, Alignment(ConcatScore(dim)), depth, pool="mean")
        self.begin = nn.Parameter(torch.randn(dim) / dim**0.5)

    def forward(self, tokens: Tokens, places: Int[Tensor, "b m"]) -> Float[Tensor, "b m k"]:
        """Give the log-probability of each place, where the places before were pointed at (teacher forcing).

        Args:
            tokens: the vectors.
            places: that are to be pointed at.
        """
        context = self.encoder(tokens_of(tokens).without_padding())
        index = places[:, :-1, None].expand(-1, -1, context.x.shape[2])
        first = self.begin.expand(len(places), 1, -1)
        read = Tokens(torch.cat([first, context.x.gather(1, index)], dim=1))
        return log_weights(self.decoder.weights(read, context))

    @torch.no_grad()
    def point(self, tokens: Tokens, steps: int) -> Int[Tensor, "b m"]:
        """Point so many times, each time at the likeliest place.

        Args:
            tokens: the vectors.
            steps: m.
        """
        context = self.encoder(tokens_of(tokens).without_padding())
        b, _, dim = context.x.shape
        state, read, found = self.decoder.state(b), self.begin.expand(b, 1, -1), list[Tensor]()
        for step in range(steps):
            aligned = self.decoder(Tokens(read), None if step else context, state)
            found.append(aligned.weights[:, 0].argmax(-1))
            read = context.x.gather(1, found[-1][:, None, None].expand(-1, 1, dim))
        return torch.stack(found, dim=1)


def log_weights(weights: Float[Tensor, "b 1 m k"]) -> Float[Tensor, "b m k"]:
    """Give the logarithm; that of the smallest number where a weight is 0, and without a gradient there."""
    return weights[:, 0].clamp(min=torch.finfo(weights.dtype).tiny).log()
