"""Scores of a recurrent decoder's alignment, arXiv:1508.04025 eq. 8 and sec. 3.1: dot, general, concat, location.

Each keeps something of the source, once (`keys`), and compares a state of the decoder with it.
Axes: b rows, q states of the decoder, k vectors of the source, d channels.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.errors import ConfigError, InputError
from zoo.core.mechanisms.learned_scores import AdditiveScore, GeneralScore
from zoo.core.ops.autocast import autocast_off, compute_dtype
from zoo.core.ops.linear import Linear


class AlignmentScore(nn.Module, ABC):
    """Compare states of a decoder with the vectors of a source."""

    def keys(self, source: Float[Tensor, "b k d"]) -> Float[Tensor, "b k d"]:
        """Give what is compared of the source, which is computed once."""
        return source

    @abstractmethod
    def forward(
        self, query: Float[Tensor, "b q d"], keys: Float[Tensor, "b k d"], places: Int[Tensor, "b k"]
    ) -> Float[Tensor, "b q k"]:
        """Give the score of each pair; products of float16, which ends at 65,504, in float32.

        Args:
            query: states of the decoder.
            keys: what `keys` gave.
            places: of the source's vectors, counted from 0; padding may have any.
        """


def compared(product: Callable[[Tensor, Tensor], Tensor], query: Tensor, keys: Tensor) -> Tensor:
    """Multiply in the precision of the inputs or of autocast; in float32 where that is float16."""
    if query.dtype == torch.float64 or compute_dtype(query) != torch.float16:
        return product(query, keys)
    with autocast_off(query.device):
        return product(query.float(), keys.float())


class DotScore(AlignmentScore):
    """Score hᵀ s, not scaled."""

    def forward(
        self, query: Float[Tensor, "b q d"], keys: Float[Tensor, "b k d"], places: Int[Tensor, "b k"]
    ) -> Float[Tensor, "b q k"]:
        return compared(lambda q, k: q @ k.mT, query, keys)


class BilinearScore(AlignmentScore):
    """Score hᵀ W s, the paper's `general`.

    Args:
        dim: channels of the states and of the source's vectors.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.general = GeneralScore(1, dim)

    def forward(
        self, query: Float[Tensor, "b q d"], keys: Float[Tensor, "b k d"], places: Int[Tensor, "b k"]
    ) -> Float[Tensor, "b q k"]:
        return compared(lambda q, k: self.general().scores(q[:, None], k[:, None])[:, 0], query, keys)


class ConcatScore(AlignmentScore):
    """Score vᵀ tanh(W [h; s]), which is that of arXiv:1409.0473 app. A.1.2: W [h; s] = W1 h + W2 s.

    W2 s does not depend on the decoder and is computed once, as sec. A.2.2 there notes.

    Args:
        dim: channels of the states and of the source's vectors.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.additive = AdditiveScore(1, dim)

    def keys(self, source: Float[Tensor, "b k d"]) -> Float[Tensor, "b k d"]:
        return source @ self.additive.w2[0].T

    def forward(
        self, query: Float[Tensor, "b q d"], keys: Float[Tensor, "b k d"], places: Int[Tensor, "b k"]
    ) -> Float[Tensor, "b q k"]:
        inside = (query @ self.additive.w1[0].T)[:, :, None] + keys[:, None]
        return inside.tanh() @ self.additive.v[0]


class LocationScore(AlignmentScore):
    """Score W h: one for each place, whatever stands there; so it is for sources up to a length only.

    W has a row for each place, and a place beyond has none.

    Args:
        dim: channels of the states.
        max_len: places.

    Raises:
        ConfigError: If there is no place.
    """

    def __init__(self, dim: int, max_len: int) -> None:
        super().__init__()
        if max_len < 1:
            raise ConfigError(f"score='location:{max_len}': at least one place of the source has a score")
        self.linear = Linear(dim, max_len, bias=False)

    def forward(
        self, query: Float[Tensor, "b q d"], keys: Float[Tensor, "b k d"], places: Int[Tensor, "b k"]
    ) -> Float[Tensor, "b q k"]:
        """See `AlignmentScore`.

        Raises:
            InputError: If a source is longer than there are places.
        """
        length, limit = keys.shape[1], self.linear.out_features
        if length > limit:
            raise InputError(
                f"a source of {length} tokens for score='location:{limit}', which has a row of weights for each of "
                f"{limit} places: take another score, or make the model with location:{length}"
            )
        index = places.clamp(0, limit - 1)[:, None].expand(-1, query.shape[1], -1)
        return torch.gather(self.linear(query), 2, index)
