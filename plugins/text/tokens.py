"""BERT's token embedding: the normed sum of token, position and segment embeddings."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core import TokenEmbed, Tokens, ValidMask, check_ids

SEGMENTS = 2
"""First and second text of a pair."""


class BertStem(nn.Module):
    """Add up a vector for the token, its position and its segment, and norm the sum: arXiv:1810.04805 sec. 3.

    Args:
        vocab_size: tokens there are.
        dim: channels.
        position: of the tokens, as in `TokenEmbed`.
        max_len: positions that are learned.
        dropout: probability in [0, 1), behind the norm.
        eps: of the norm.
    """

    def __init__(
        self,
        vocab_size: int,
        dim: int,
        *,
        position: str = "learned",
        max_len: int = 512,
        dropout: float = 0.0,
        eps: float = 1e-12,
    ) -> None:
        super().__init__()
        self.tokens = TokenEmbed(vocab_size, dim, position=position, max_len=max_len)
        self.segments = nn.Embedding(SEGMENTS, dim)
        self.norm = nn.LayerNorm(dim, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, ids: Int[Tensor, "b n"], valid: ValidMask = None, segments: Int[Tensor, "b n"] | None = None
    ) -> Tokens:
        """Give the vectors.

        Args:
            ids: tokens; what is not there may be any of the vocabulary.
            valid: how many tokens each row has, from its front, or which; all if None.
            segments: 0 for tokens of the first text, 1 for those of the second; all 0 if None.

        Raises:
            InputError: If an id is no token, or a segment is neither.
        """
        tokens = self.tokens(ids, valid)
        if segments is None:
            return tokens.with_x(self._normed(tokens.x, self.segments.weight[0]))
        check_ids(segments, SEGMENTS)
        return tokens.with_x(self._normed(tokens.x, self.segments(segments)))

    def follow(self, ids: Int[Tensor, "b n"], start: int | Int[Tensor, " b"], valid: ValidMask = None) -> Tokens:
        """Give the vectors of tokens of the first text that follow on what a state keeps; see `TokenEmbed.follow`."""
        tokens = self.tokens.follow(ids, start, valid)
        return tokens.with_x(self._normed(tokens.x, self.segments.weight[0]))

    def vectors(self, ids: Int[Tensor, "b n"], position: Int[Tensor, "b n"]) -> Float[Tensor, "b n d"]:
        """Give the vectors of tokens of the first text at these positions; see `TokenEmbed.vectors`."""
        return self._normed(self.tokens.vectors(ids, position), self.segments.weight[0])

    def _normed(self, x: Float[Tensor, "b n d"], added: Tensor) -> Float[Tensor, "b n d"]:
        normed: Tensor = self.dropout(self.norm(x + added))
        return normed
