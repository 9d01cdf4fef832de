"""The non-autoregressive transformer."""

from collections.abc import Callable, Sequence
from typing import Any

from zoo.core.errors import ConfigError
from zoo.core.generation.length_prediction import CutAtEnd, Length, LengthPredictor
from zoo.core.layers.attention import Attention
from zoo.core.layers.blocks import PostNormBlock
from zoo.core.layers.heads import NextToken
from zoo.core.layers.mlp import activated
from zoo.core.layers.position_factory import with_position
from zoo.core.layers.token_embedding import TokenEmbed
from zoo.core.layers.transformer import Decoder, Encoder
from zoo.core.models.non_autoregressive import NonAutoregressive
from zoo.core.patterns.pattern import Full
from zoo.core.positions.absolute import position_encoding
from zoo.core.special_tokens import SYMBOLS
from zoo.plugins.text.models.building import Make, init_text, of_vocabulary


class NonAutoregressiveTransformer(NonAutoregressive):
    """A transformer whose decoder writes all places at once: arXiv:1711.02281, without fertilities.

    Args:
        vocab_size: tokens there are, of source and target together.
        dim: channels of a token.
        depth: blocks of the encoder, and of the decoder.
        num_heads: heads.
        mlp_dim: channels inside each MLP.
        length: how the number of places is found: `predicted` or `predicted:REACH` (at most so many tokens longer or
            shorter than the source), `cut` or `cut:FACTOR[,EXTRA]` (so many places for each token of the source and so
            many more, cut at the first end).
        attention: makes the attention within source and target from (dim, num_heads); in the decoder too each place
            reads all it lets it read.
        position: as for `Transformer`; what is added to the source is added to the places too, from a table of its own
            if it is learned.
        max_len: positions that are learned, tokens.
        dropout: probability in [0, 1).
        label_smoothing: share of the target that the training spreads over all tokens, in [0, 1); kept for it.
        eps: of the layer norms.
        symbols: padding, begin and end.

    Raises:
        ConfigError: If a value is not one of those there are.
    """

    def __init__(
        self,
        *,
        vocab_size: int = 41_000,
        dim: int = 512,
        depth: int = 6,
        num_heads: int = 8,
        mlp_dim: int = 2048,
        length: str = "predicted",
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
        parts: dict[str, Any] = {"block": PostNormBlock, "mlp": activated("relu"), "dropout": dropout, "eps": eps}
        stem = TokenEmbed(vocab_size, dim, position=position, max_len=max_len, scaled=True, dropout=dropout)
        super().__init__(
            stem,
            Encoder(*shape, attention=own, **parts),
            Decoder(*shape, attention=own, cross=Attention, pattern=Full(), **parts),
            NextToken(dim, vocab_size, stem.embed),
            length_of(length, dim),
            position=position_encoding(position, dim, (max_len,)),
            symbols=of_vocabulary(symbols, vocab_size),
            max_len=max_len if position == "learned" else None,
        )
        self.label_smoothing = label_smoothing
        init_text(self, dim**-0.5)


def cut_at_end(factor: str = "2", extra: str = "4") -> CutAtEnd:
    """Read the numbers of `CutAtEnd`."""
    return CutAtEnd(float(factor), int(extra))


def length_of(text: str, dim: int) -> Length:
    """Make what finds the number of places: `predicted:20`, `cut:2,4`.

    Raises:
        ConfigError: If there is no such way, or its numbers are none.
    """
    name, _, arguments = text.partition(":")
    ways: dict[str, Callable[[list[str]], Length]] = {
        "predicted": lambda given: LengthPredictor(dim, *map(int, given)),
        "cut": lambda given: cut_at_end(*given),
    }
    try:
        return ways[name]([part for part in arguments.split(",") if part])
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"length={text!r} is neither predicted[:REACH] nor cut[:FACTOR[,EXTRA]]") from error
