"""Encoder-decoder models from parts: any encoder, perhaps with a stem of its own, before a decoder of text.

config = EncoderDecoderConfig(vocab_size=260, dim=128, depth=3, num_heads=4, mlp_dim=512)
model = Generator(**encoder_decoder_parts(config, encoder, config.decoder(), stem=stem))
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from zoo.core.errors import ConfigError
from zoo.core.layers.attention import Attention
from zoo.core.layers.heads import NextToken
from zoo.core.layers.position_factory import with_position
from zoo.core.layers.token_embedding import TokenEmbed
from zoo.core.layers.transformer import Decoder, Encoder
from zoo.core.special_tokens import SYMBOLS, Symbols

MakeAttention = Callable[[int, int], nn.Module]
"""Makes an attention from (dim, num_heads)."""


@dataclass(frozen=True, kw_only=True)
class EncoderDecoderConfig:
    """Sizes of a Transformer that reads and writes one vocabulary, by default the base model of arXiv:1706.03762.

    Args:
        vocab_size: tokens there are, of source and target together.
        dim: channels of a token.
        depth: blocks of the encoder, and of the decoder.
        num_heads: heads.
        mlp_dim: channels inside each MLP.
        attention: makes the attention within source and target from (dim, num_heads); what the decoder reads of the
            encoder is plain attention.
        position: `sinusoidal`, `learned` (one table for source and target) or `none`, or inside attention within source
            and target `rotary`, `alibi`, `relative` (a table), `transformer-xl`, `shaw`.
        max_len: positions that are learned, tokens.
        dropout: probability in [0, 1).
        label_smoothing: share of the target that the training spreads over all tokens, in [0, 1); kept for it.
        eps: of the layer norms.
        symbols: padding, begin and end.
    """

    vocab_size: int = 41_000
    dim: int = 512
    depth: int = 6
    num_heads: int = 8
    mlp_dim: int = 2048
    attention: MakeAttention = Attention
    position: str = "sinusoidal"
    max_len: int = 512
    dropout: float = 0.1
    label_smoothing: float = 0.1
    eps: float = 1e-6
    symbols: Sequence[int] = SYMBOLS

    def self_attention(self) -> MakeAttention:
        """Give what makes the attention within source and target, with its position."""
        return with_position(self.attention, self.position, self.max_len)

    def encoder(self, attention: MakeAttention | None = None, **blocks: Any) -> Encoder:
        """Make the encoder.

        Args:
            attention: instead of the configuration's.
            blocks: `block` and `mlp`, see `Encoder`.
        """
        blocks |= {"attention": attention or self.self_attention(), "dropout": self.dropout, "eps": self.eps}
        return Encoder(self.dim, self.depth, self.num_heads, self.mlp_dim, **blocks)

    def decoder(
        self, attention: MakeAttention | None = None, cross: MakeAttention | None = Attention, **blocks: Any
    ) -> Decoder:
        """Make the decoder.

        Args:
            attention: instead of the configuration's.
            cross: makes the attention to the encoder's vectors; None for a decoder alone.
            blocks: `block`, `mlp` and `pattern`, see `Decoder`.
        """
        blocks |= {"attention": attention or self.self_attention(), "dropout": self.dropout, "eps": self.eps}
        return Decoder(self.dim, self.depth, self.num_heads, self.mlp_dim, cross=cross, **blocks)

    def embedding(self, scaled: bool = True) -> TokenEmbed:
        """Make the embedding of source and target, multiplied by the root of `dim` where it is scaled."""
        return TokenEmbed(
            self.vocab_size,
            self.dim,
            position=self.position,
            max_len=self.max_len,
            scaled=scaled,
            dropout=self.dropout,
        )

    @property
    def limit(self) -> int | None:
        """The most tokens that can be written; None for any number."""
        return self.max_len if self.position == "learned" else None


def encoder_decoder_parts(
    config: EncoderDecoderConfig,
    encoder: nn.Module,
    decoder: Decoder,
    *,
    stem: nn.Module | None = None,
    bias: bool = False,
) -> dict[str, Any]:
    """Give the parts of a `Generator`: an encoder and a decoder, and one embedding for the target and the scores.

    Args:
        config: sizes of the decoder and of the embedding.
        encoder: `Tokens` to `Tokens`, of the decoder's channels.
        decoder: made with `cross=`.
        stem: the source's raw input to `Tokens`; None where the embedding reads the source, too.
        bias: whether each token has a number that is added to its score.
    """
    target = config.embedding()
    return {
        "target": target,
        "decoder": decoder,
        "head": NextToken(config.dim, config.vocab_size, target.embed, bias=bias),
        "encoder": encoder,
        "stem": stem,
        "symbols": of_vocabulary(config.symbols, config.vocab_size),
        "max_len": config.limit,
    }


def of_vocabulary(symbols: Sequence[int], vocab_size: int) -> Symbols:
    """Name the symbols.

    Raises:
        ConfigError: If there are not three, or one is no token of the vocabulary.
    """
    if len(symbols) != len(SYMBOLS) or not all(0 <= token < vocab_size for token in symbols):
        raise ConfigError(
            f"symbols={list(symbols)} with vocab_size={vocab_size}: three tokens of the vocabulary, for padding, "
            "begin and end"
        )
    return Symbols(*symbols)
