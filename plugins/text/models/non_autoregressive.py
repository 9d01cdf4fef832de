"""The non-autoregressive transformer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zoo.core import (
    ConfigError,
    CutAtEnd,
    EncoderDecoderConfig,
    Full,
    Length,
    LengthPredictor,
    NextToken,
    NonAutoregressive,
    PostNormBlock,
    configured,
    mlp_with,
    of_vocabulary,
    position_encoding,
)
from zoo.plugins.text.models.initialization import init_text


@dataclass(frozen=True, kw_only=True)
class NonAutoregressiveConfig(EncoderDecoderConfig):
    """Sizes of `NonAutoregressiveTransformer`.

    Args:
        length: how the number of places is found: `predicted` or `predicted:REACH` (at most so many tokens longer or
            shorter than the source), `cut` or `cut:FACTOR[,EXTRA]` (so many places for each token of the source and so
            many more, cut at the first end).
    """

    length: str = "predicted"


class NonAutoregressiveTransformer(NonAutoregressive):
    """A transformer whose decoder writes all places at once: arXiv:1711.02281, without fertilities.

    In the decoder too each place reads all that the attention lets it read. What is added to the source for its
    positions is added to the places too, from a table of its own if it is learned.

    Args:
        config: its fields are the keywords, see `NonAutoregressiveConfig` and `EncoderDecoderConfig`.

    Raises:
        ConfigError: If a value is not one of those there are.
    """

    @configured(NonAutoregressiveConfig)
    def __init__(self, config: NonAutoregressiveConfig) -> None:
        blocks: dict[str, Any] = {"block": PostNormBlock, "mlp": mlp_with("relu")}
        stem = config.embedding()
        super().__init__(
            stem,
            config.encoder(**blocks),
            config.decoder(pattern=Full(), **blocks),
            NextToken(config.dim, config.vocab_size, stem.embed),
            length_of(config.length, config.dim),
            position=position_encoding(config.position, config.dim, (config.max_len,)),
            symbols=of_vocabulary(config.symbols, config.vocab_size),
            max_len=config.limit,
        )
        self.label_smoothing = config.label_smoothing
        init_text(self, config.dim**-0.5)


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
