"""`Alignment`: weights of a source's vectors for states of a recurrent decoder.

Axes: b rows, q states of the decoder, k vectors of the source, d channels.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from zoo.core.mechanisms.alignment.scores import AlignmentScore
from zoo.core.mechanisms.alignment.windows import AlignmentWindow
from zoo.core.scoring.normalizers import masked_softmax, upcast


@dataclass(frozen=True)
class Memory:
    """What a decoder reads of a source.

    Args:
        keys: what is compared.
        values: what is read.
        valid: which vectors are there; all if None.
    """

    keys: Float[Tensor, "b k d"]
    values: Float[Tensor, "b k d"]
    valid: Bool[Tensor, "b k"] | None = None

    @property
    def mask(self) -> Bool[Tensor, "b k"]:
        """Which vectors are there."""
        return torch.ones_like(self.keys[..., 0], dtype=torch.bool) if self.valid is None else self.valid

    @property
    def places(self) -> Int[Tensor, "b k"]:
        """Place of each vector, counted from the first of its row that is there."""
        return self.mask.long().cumsum(1) - 1

    @property
    def lengths(self) -> Int[Tensor, " b"]:
        """Vectors of each row."""
        return self.mask.sum(1)


class Alignment(nn.Module):
    """Softmax of a score over the source, or over a window of it: arXiv:1508.04025 eq. 7.

    Args:
        score: compares state and source.
        window: what may be read; all of the source (global) if None.
    """

    def __init__(self, score: AlignmentScore, window: AlignmentWindow | None = None) -> None:
        super().__init__()
        self.score = score
        self.window = window

    def forward(
        self, query: Float[Tensor, "b q d"], memory: Memory, steps: Int[Tensor, "#b q"]
    ) -> Float[Tensor, "b q k"]:
        """Give the weights; 0 for all where nothing may be read.

        Args:
            query: states of the decoder.
            memory: of the source.
            steps: place of each state in the target.
        """
        scores = upcast(self.score(query, memory.keys, memory.places))
        allowed, factor = memory.mask[:, None].expand_as(scores), None
        if self.window is not None:
            view = self.window(query, steps, memory.places, memory.lengths)
            allowed, factor = allowed & view.allowed, view.factor
        weights = masked_softmax(scores, allowed)
        return (weights if factor is None else weights * factor).to(query.dtype)
