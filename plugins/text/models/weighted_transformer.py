"""The Weighted Transformer."""

from collections.abc import Sequence
from typing import Any

from zoo.core.layers.attention import Attention
from zoo.core.layers.heads import NextToken
from zoo.core.layers.position_factory import with_position
from zoo.core.layers.token_embedding import TokenEmbed
from zoo.core.layers.transformer import Decoder, Encoder
from zoo.core.mechanisms.branched import BranchedBlock, branched, no_mlp
from zoo.core.models.generator import Generator
from zoo.core.special_tokens import SYMBOLS
from zoo.plugins.text.models.building import Make, init_text, of_vocabulary


class WeightedTransformer(Generator):
    """A transformer whose heads pass through feed-forward networks of their own before they join: arXiv:1711.02132.

    In each block of the encoder the attention is branched, in each of the decoder that which reads the encoder; see
    `zoo.core.mechanisms.branched`. The networks' width is read as d_ff / M for M heads, which leaves the number of
    parameters as it was, as the paper says of its layer.

    Args:
        vocab_size: tokens there are, of source and target together.
        dim: channels of a token.
        depth: blocks of the encoder, and of the decoder.
        num_heads: heads, which are the branches.
        mlp_dim: channels inside of all networks of a block together.
        attention: makes the attention within source and target from (dim, num_heads); it must have heads.
        position: as for `Transformer`.
        max_len: positions that are learned, tokens.
        dropout: probability in [0, 1).
        label_smoothing: share of the target that the training spreads over all tokens, in [0, 1); kept for it.
        eps: of the layer norms.
        symbols: padding, begin and end.

    Raises:
        ConfigError: If the attention has no heads.
    """

    def __init__(
        self,
        *,
        vocab_size: int = 41_000,
        dim: int = 512,
        depth: int = 6,
        num_heads: int = 8,
        mlp_dim: int = 2048,
        attention: Make = Attention,
        position: str = "sinusoidal",
        max_len: int = 512,
        dropout: float = 0.1,
        label_smoothing: float = 0.1,
        eps: float = 1e-6,
        symbols: Sequence[int] = SYMBOLS,
    ) -> None:
        own = with_position(attention, position, max_len)
        shape = (dim, depth, num_heads, mlp_dim)
        parts: dict[str, Any] = {"block": BranchedBlock, "mlp": no_mlp, "dropout": dropout, "eps": eps}
        embed = TokenEmbed(vocab_size, dim, position=position, max_len=max_len, scaled=True, dropout=dropout)
        super().__init__(
            embed,
            Decoder(*shape, attention=own, cross=_branched(Attention, mlp_dim, dropout), **parts),
            NextToken(dim, vocab_size, embed.embed),
            encoder=Encoder(*shape, attention=_branched(own, mlp_dim, dropout), **parts),
            symbols=of_vocabulary(symbols, vocab_size),
            max_len=max_len if position == "learned" else None,
        )
        self.label_smoothing = label_smoothing
        init_text(self, dim**-0.5)


def _branched(attention: Make, mlp_dim: int, dropout: float) -> Make:
    return lambda dim, num_heads: branched(attention(dim, num_heads), mlp_dim, dropout)
