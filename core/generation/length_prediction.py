"""Lengths of answers for non-autoregressive decoders: predicted, or long enough and cut at the first end.

An answer's end counts as one of its places. Axes: b rows, c candidates.
"""

import math
from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from zoo.core.errors import ConfigError, InputError
from zoo.core.layers.heads import Classify
from zoo.core.tokens import Tokens


class Length(nn.Module, ABC):
    """Number of places of a non-autoregressive decoder."""

    @abstractmethod
    def propose(self, encoded: Tokens, candidates: int) -> Int[Tensor, "b c"]:
        """Give numbers of places to try for each row, the likeliest first.

        Raises:
            ConfigError: If there are not so many.
        """

    @abstractmethod
    def teacher_forced(self, encoded: Tokens, target_lengths: Int[Tensor, " b"]) -> Int[Tensor, " b"]:
        """Count the decoder positions of each row for teacher forcing with answers of known length.

        Raises:
            InputError: If an answer has no room.
        """

    @abstractmethod
    def loss(self, encoded: Tokens, target_lengths: Int[Tensor, " b"]) -> Float[Tensor, ""]:
        """Return the loss of the predicted lengths."""


class LengthPredictor(Length):
    """Classify how much longer the answer is than the source, from the mean of the encoder's vectors.

    arXiv:1904.09324 sec. 3.3 asks a special token instead of the mean; it too keeps the likeliest lengths and lets the
    answers' scores decide.

    Args:
        dim: channels of the encoder's vectors.
        reach: most tokens that the answer is longer or shorter; what is beyond counts as that.
    """

    def __init__(self, dim: int, reach: int = 20) -> None:
        super().__init__()
        if reach < 0:
            raise ConfigError(f"reach={reach}: answers are 0 or more tokens longer or shorter")
        self.reach = reach
        self.classify = Classify(dim, 2 * reach + 1, "mean")

    def forward(self, encoded: Tokens) -> Float[Tensor, "b classes"]:
        """Give a score for each difference, from -reach on."""
        return self.classify(encoded)

    def propose(self, encoded: Tokens, candidates: int) -> Int[Tensor, "b c"]:
        if candidates > 2 * self.reach + 1:
            raise ConfigError(f"candidates={candidates} of a predictor that tells {2 * self.reach + 1} lengths apart")
        likely = self(encoded).topk(candidates).indices
        return (counts(encoded)[:, None] + likely - self.reach).clamp(min=1)

    def teacher_forced(self, encoded: Tokens, target_lengths: Int[Tensor, " b"]) -> Int[Tensor, " b"]:
        return target_lengths

    def loss(self, encoded: Tokens, target_lengths: Int[Tensor, " b"]) -> Float[Tensor, ""]:
        right = (target_lengths - counts(encoded) + self.reach).clamp(0, 2 * self.reach)
        return cross_entropy(self(encoded), right)

    def extra_repr(self) -> str:
        """Return the options that `repr` shows."""
        return f"reach={self.reach}"


class CutAtEnd(Length):
    """Write at more places than needed and cut behind the first end; positions after it learn the end too.

    Args:
        factor: places for each vector of the source; 0 for a fixed number.
        extra: further places.

    Raises:
        ConfigError: If that makes no places.
    """

    def __init__(self, factor: float = 2.0, extra: int = 4) -> None:
        super().__init__()
        if not 0 <= factor < math.inf or extra < 0 or not factor + extra:
            raise ConfigError(f"factor={factor}, extra={extra}: neither is negative, and together they make places")
        self.factor = factor
        self.extra = extra

    def propose(self, encoded: Tokens, candidates: int) -> Int[Tensor, "b c"]:
        if candidates > 1:
            raise ConfigError(f"candidates={candidates} of {self!r}, which writes at one number of places")
        return self.places(encoded)[:, None]

    def teacher_forced(self, encoded: Tokens, target_lengths: Int[Tensor, " b"]) -> Int[Tensor, " b"]:
        places = self.places(encoded)
        bad = target_lengths > places
        if bool(bad.any()):
            row = int(bad.nonzero()[0, 0])
            raise InputError(
                f"an answer of {int(target_lengths[row])} tokens in row {row}, where {self!r} writes "
                f"{int(places[row])}: give more places"
            )
        return places

    def loss(self, encoded: Tokens, target_lengths: Int[Tensor, " b"]) -> Float[Tensor, ""]:
        """See `Length.loss`: the end is learned like any token."""
        return encoded.x.new_zeros(())

    def places(self, encoded: Tokens) -> Int[Tensor, " b"]:
        """Give the places of each row."""
        return ((counts(encoded) * self.factor).ceil().long() + self.extra).clamp(min=1)

    def extra_repr(self) -> str:
        """Return the options that `repr` shows."""
        return f"factor={self.factor}, extra={self.extra}"


def counts(tokens: Tokens) -> Int[Tensor, " b"]:
    """Return the number of valid vectors of each row."""
    valid = tokens.valid()
    b, n = tokens.x.shape[:2]
    return torch.full((b,), n, device=tokens.x.device) if valid is None else valid.sum(1)
