"""Copying from the source: what a decoder reads is also a distribution over its tokens, arXiv:1704.04368 sec. 2.2.

Axes: b rows, n tokens, k tokens of the source, d channels.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.errors import InputError
from zoo.core.layers.heads import NextToken
from zoo.core.scoring.normalizers import upcast
from zoo.core.tokens import Tokens


@dataclass(frozen=True)
class SourceTokens(Tokens):
    """An encoder's vectors, and the tokens that they stand for.

    Args:
        ids: of the source.
    """

    ids: Int[Tensor, "b k"] | None = None

    def with_x(self, x: Float[Tensor, "b n e"]) -> "SourceTokens":
        return replace(self, x=x)


@dataclass(frozen=True)
class AlignedTokens(Tokens):
    """What a decoder with attention answers, with its weights and the tokens of the source.

    Args:
        weights: of the source's tokens.
        ids: of the source.
    """

    weights: Float[Tensor, "b n k"] | None = None
    ids: Int[Tensor, "b k"] | None = None


class CopyHead(nn.Module):
    """Log-probabilities of p_gen P_vocab + (1 - p_gen) Σ α: arXiv:1704.04368 eq. 8 and 9.

    Source and target share their vocabulary, so that it needs no further tokens for what is copied. p_gen = sigmoid(w h̃
    + b); the paper reads the token beside. What weights leave over, where they sum to less than 1, is generated, so
    that the probabilities sum to 1 in any case.

    Args:
        generate: gives the scores of P_vocab.
    """

    def __init__(self, generate: NextToken) -> None:
        super().__init__()
        self.generate = generate
        self.share = nn.Linear(generate.dim, 1)

    def forward(self, tokens: Tokens) -> Float[Tensor, "b n vocab"]:
        """Give the log-probabilities.

        Raises:
            InputError: If the tokens do not come with weights of a source.
        """
        if not isinstance(tokens, AlignedTokens) or tokens.weights is None or tokens.ids is None:
            raise InputError("copying needs the weights and ids of a source: make the model a CopyingGenerator")
        log = upcast(self.generate(tokens)).log_softmax(-1)
        share = upcast(self.share(tokens.x)).sigmoid()
        weights = (1 - share) * upcast(tokens.weights)
        index = tokens.ids[:, None].expand(-1, weights.shape[1], -1)
        copied = torch.zeros_like(log).scatter_add(2, index, weights)
        least = torch.finfo(log.dtype).tiny  # where a logarithm, and its gradient, would be infinite
        generated = (1 - weights.sum(-1, keepdim=True)).clamp(min=least).log()
        return torch.logaddexp(generated + log, copied.clamp(min=least).log()).to(tokens.x.dtype)

    @property
    def dim(self) -> int:
        """Channels of the vectors."""
        return self.generate.dim

    @property
    def num_classes(self) -> int:
        """Tokens of the vocabulary."""
        return self.generate.num_classes

    def reset(self, num_classes: int) -> None:
        """Refuse another vocabulary."""
        self.generate.reset(num_classes)
